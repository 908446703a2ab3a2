"""What to tell a user whose search found nothing."""

from ..search.hit import Request
from ..store import HybridStore


def why_nothing(store: HybridStore, request: Request) -> str:
    """The most likely reason, and what to try next."""
    if not store.stats()["doc_count"]:
        return "the memory is empty; `hybrid-memory ingest --path DIR` fills it"
    if request.min_score:
        return f"nothing found with a score of {request.min_score:g} or more; a lower --min-score shows more"
    if request.filters:
        return "nothing found under these filters; `hybrid-memory search` without them looks everywhere"
    return "nothing found; try other words, or fewer; `--refresh` reads what was written lately"
