"""What an answer says besides its results: decided here for every surface."""

from typing import TYPE_CHECKING

from .result import STRONG, UNCLEAR, is_unclear

if TYPE_CHECKING:
    from ..storage.interface import Storage
    from .answer import Answer
    from .plan import Plan

ONLY_FILTERS = "there are filters and no words to look for; `hybrid-memory list` lists documents"
ORDER = (
    "confidence judges a passage alone; the order also counts its neighbours, its document and days"
)
NOTHING_FOUND = "nothing found; try other words, or fewer"
EMPTY_QUERY = "the query is empty; `hybrid-memory list` lists the documents"


def advise(answer: "Answer", plan: "Plan", storage: "Storage") -> None:
    """Add the warnings about filters to an answer, and set its `hint` and `more`."""
    if plan.has_only_filters:
        answer.warnings.append(ONLY_FILTERS)
    filters = plan.request.filters
    if filters and not answer.results and not answer.nearest_miss:
        from ..storage.filter_values import unmet

        problem = unmet(storage, filters)
        if problem:
            answer.warnings.append(problem)
    answer.hint = _hint(answer, plan, storage)
    if answer.cut:
        answer.more = f"{answer.cut} more below {plan.request.stop:g} of the best score (stop)"


def _hint(answer: "Answer", plan: "Plan", storage: "Storage") -> str | None:
    """Return what to know of the results, or the most likely reason why there are none."""
    if answer.results:
        return UNCLEAR if is_unclear(answer.results) else _order(answer)
    if not answer.is_empty or plan.has_only_filters:
        return None
    if plan.query.is_blank:
        return EMPTY_QUERY
    # Counting documents takes as long as the search: only if there are no chunks
    if not storage.keyword().size() and not storage.catalog.counts()["doc_count"]:
        return "the memory is empty; `hybrid-memory ingest --path DIR` fills it"
    least = plan.request.min_score
    if least:
        return f"nothing found with a score of {least:g} or more; a lower --min-score shows more"
    if plan.request.filters:
        return "nothing found under these filters; `hybrid-memory search` without them looks everywhere"
    return NOTHING_FOUND


def _order(answer: "Answer") -> str | None:
    """Explain why a strong match is not the first result. The line names none of them: where both
    differ, the first result is more often right than the one with the highest confidence.
    """
    first = answer.results[0]
    highest = max(result["confidence"] for result in answer.results)
    if first["confidence"] >= STRONG or highest < STRONG:
        return None
    return ORDER
