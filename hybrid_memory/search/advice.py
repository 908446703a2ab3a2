"""What an answer says besides its results: decided here for every surface."""

from typing import TYPE_CHECKING

from .result import STRONG, UNCLEAR, is_unclear, match

if TYPE_CHECKING:
    from ..storage.protocol import Storage
    from .answer import Answer
    from .plan import Plan

ONLY_FILTERS = "there are filters and no words to look for; `hybrid-memory list` lists documents"
NOTHING_FOUND = "nothing found; try other words, or fewer"


def advise(answer: "Answer", plan: "Plan", storage: "Storage") -> None:
    """Add the warnings about filters to an answer, and set its `hint`."""
    if plan.has_only_filters:
        answer.warnings.append(ONLY_FILTERS)
    filters = plan.request.filters
    if filters and not answer.results and not answer.nearest_miss:
        from ..storage.target import unmet

        problem = unmet(storage, filters)
        if problem:
            answer.warnings.append(problem)
    answer.hint = _hint(answer, plan, storage)


def _hint(answer: "Answer", plan: "Plan", storage: "Storage") -> str | None:
    """Return what to know of the results, or the most likely reason why there are none."""
    if answer.results:
        return UNCLEAR if is_unclear(answer.results) else _surest(answer)
    if not answer.is_empty or plan.has_only_filters:
        return None
    if not storage.catalog.counts()["doc_count"]:
        return "the memory is empty; `hybrid-memory ingest --path DIR` fills it"
    least = plan.request.min_score
    if least:
        return f"nothing found with a score of {least:g} or more; a lower --min-score shows more"
    if plan.request.filters:
        return "nothing found under these filters; `hybrid-memory search` without them looks everywhere"
    return NOTHING_FOUND


def _surest(answer: "Answer") -> str | None:
    """Explain why a strong match is not the first result.

    Scores decide the order, and confidence can differ from it: a score also counts the neighbours,
    the document and the days of a passage. Neither is more often right, so the line only states
    both.
    """
    first = answer.results[0]
    surest = max(answer.results, key=lambda result: result["confidence"])
    if first["confidence"] >= STRONG or surest["confidence"] < STRONG:
        return None
    sureness = f"{surest['confidence']:.2f} ({match(surest['confidence'])})"
    return (
        f"results are ordered by score; {surest['citation']} has the highest confidence, {sureness}"
    )
