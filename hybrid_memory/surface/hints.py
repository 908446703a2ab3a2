"""What to tell a user who found nothing."""

from ..search.hit import Request
from ..store import HybridStore


def why_nothing(store: HybridStore, request: Request) -> str:
    """The likeliest reason, and what to try."""
    if not store.stats()["doc_count"]:
        return "the memory is empty; `hybrid-memory ingest --path DIR` fills it"
    if request.min_score:
        return f"nothing found that scores {request.min_score:g}; a lower --min-score shows more"
    if request.filters:
        return "nothing found under these filters; `hybrid-memory search` without them looks everywhere"
    return "nothing found; other words may help, or fewer; `--refresh` takes in what was written lately"
