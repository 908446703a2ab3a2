"""The stages that compare the days of passages: which of equal ones is shown, and the order of those
that answer equally well.

Relevance decides first. A passage that is much better stays before a newer one. Of equal texts, one
that has more of the question in its headings, its name or its metadata stands for the others.
"""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

from ..text.order import NEWEST, OLDEST
from .hit import Hit
from .stages import best_first, cover, share_of_query

if TYPE_CHECKING:
    from .state import SearchState

EQUAL_SHARE = 0.9  # of the best score; passages above it answer equally well

_day = attrgetter("day")


def same_text_once(hits: Iterable[Hit], state: "SearchState") -> list[Hit]:
    """Of hits with the same text, keep the newest that has as much of the question as the best, or
    the oldest for a query such as "first release". It gets the best score; `others` has the rest.
    """
    by_text: dict[str, list[Hit]] = {}
    for hit in hits:
        by_text.setdefault(hit.text, []).append(hit)
    is_oldest_first = state.query.order == OLDEST
    kept = [
        same[0] if len(same) == 1 else _standing_for(same, state, is_oldest_first=is_oldest_first)
        for same in by_text.values()
    ]
    return best_first(kept)


def _standing_for(same: Sequence[Hit], state: "SearchState", *, is_oldest_first: bool) -> Hit:
    """The hit that stands for others with the same text, best first."""
    best = same[0]
    if not state.request.fts_syntax:
        cover(same, state)
    equal = [
        hit
        for hit in same
        if share_of_query(hit) >= share_of_query(best) and hit.is_of_date == best.is_of_date
    ]
    shown = (min if is_oldest_first else max)(equal, key=_day)
    shown.others = sorted((hit for hit in same if hit is not shown), key=_day, reverse=True)
    shown.rank_with(max(shown.score, best.score))
    return shown


def in_asked_order(hits: Iterable[Hit], state: "SearchState") -> Iterable[Hit]:
    """If the query has a word of order, such as "latest", put the hits that answer as well as the
    best one in the order of their days. They share their scores out anew.
    """
    order = state.query.order
    if not order or state.question.is_lookup:
        return hits
    ranked = list(hits)
    least = EQUAL_SHARE * max((hit.score for hit in ranked), default=0.0)
    equal = [hit for hit in ranked if hit.score >= least]
    scores = [hit.score for hit in equal]
    equal.sort(key=_day, reverse=order == NEWEST)
    for hit, score in zip(equal, scores, strict=True):
        hit.rank_with(score)
    return equal + [hit for hit in ranked if hit.score < least]


def sorted_by_date(hits: Iterable[Hit], state: "SearchState") -> Iterable[Hit]:
    """Sort the hits that were chosen by day, newest first, if the user wants that."""
    if state.request.sort != "date":
        return hits
    return sorted(hits, key=_day, reverse=True)
