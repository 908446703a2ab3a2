"""What an answer says besides its results: decided here for every surface."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..storage.filter_values import unmet
from .result import SOME, STRONG

if TYPE_CHECKING:
    from ..storage.interface import Storage
    from ..text.query import Query
    from .answer import Answer
    from .plan import Plan

ONLY_FILTERS = "there are filters and no words to look for; `hybrid-memory list` lists documents"
ORDER = "confidence rates each passage alone; the order also uses the document, its name and dates"
OTHER_WORDS = "ask again with other words in `also`, or read the best note with `get`"
IF_ABSENT = f"if the answer is not here, {OTHER_WORDS}"
FAINT = "only faint matches, perhaps unrelated"
UNREAD_TIME = (
    "the time {!r} was not understood; write 2026-01-05, in October or last 5 days, or use a filter"
)
NOTHING_FOUND = "nothing found; try other words, or fewer"
EMPTY_QUERY = "the query is empty; `hybrid-memory list` lists the documents"


def advise(answer: "Answer", plan: "Plan", storage: "Storage") -> None:
    """Add the warnings about filters to an answer, and set its `hint` and `more`."""
    if plan.has_only_filters:
        answer.warnings.append(ONLY_FILTERS)
    unread = unread_time_line(plan.query)
    if unread:
        answer.warnings.insert(0, unread)
    filters = plan.request.filters
    problem = None
    if filters and not answer.results and not answer.nearest_miss:
        problem = unmet(storage, filters)
    if problem:
        answer.warnings.append(problem)
    else:
        answer.hint = _hint(answer, plan, storage)
    answer.more = "; ".join(_left_out(answer, plan)) or None


def unread_time_line(query: "Query") -> str | None:
    """Name the text in a query that looks like a time and was not understood."""
    return UNREAD_TIME.format(query.unread_time) if query.unread_time else None


def _left_out(answer: "Answer", plan: "Plan") -> Iterator[str]:
    """Count the results that options left out, and cite what replaces them unless it is a result."""
    if answer.cut:
        yield f"{answer.cut} more below {plan.request.stop:g} of the best score (stop)"
    if answer.superseded_by:
        count = len(answer.superseded_by)
        line = f"{count} superseded passage{'' if count == 1 else 's'} left out (in_force)"
        shown = {result["citation"] for result in answer.results}
        places = [place for place in dict.fromkeys(answer.superseded_by) if place not in shown]
        yield f"{line}, in force: {', '.join(places)}" if places else line


def _hint(answer: "Answer", plan: "Plan", storage: "Storage") -> str | None:
    """Return what to know of the results, or the most likely reason why there are none."""
    if answer.results:
        best = max(result["confidence"] for result in answer.results)
        return _order(answer, best) or _unclear(best, plan)
    if answer.nearest_miss:
        is_refused = answer.nearest_miss["confidence"] < max(
            plan.request.floor, plan.request.min_confidence
        )
        return OTHER_WORDS if is_refused and _may_ask_in_other_words(plan) else None
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


def _unclear(best: float, plan: "Plan") -> str | None:
    """Suggest other words where no match is strong and nobody gave any; warn that all are faint."""
    may_ask = best < STRONG and _may_ask_in_other_words(plan)
    if best < SOME:
        return f"{FAINT}; {OTHER_WORDS}" if may_ask else FAINT
    return IF_ABSENT if may_ask else None


def _may_ask_in_other_words(plan: "Plan") -> bool:
    request, query = plan.request, plan.query
    is_question = not (request.fts_syntax or request.typed or request.literal)
    return is_question and not (plan.also or query.is_identifier)


def _order(answer: "Answer", best: float) -> str | None:
    """Explain why a strong match is not the first result. The line names none of them: where both
    differ, the first result is more often right than the one with the highest confidence.
    """
    return ORDER if best >= STRONG > answer.results[0]["confidence"] else None
