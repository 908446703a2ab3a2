"""Passages that stand side by side in a document become one result, and as many results as a budget allows are kept, best first.

A budget counts what is printed, not passages alone, so whoever prints says what a result costs.
"""

from collections.abc import Callable, Sequence

from ..text.citation import citation, page
from ..typed.names import TYPE_CHECKING, Any
from .surroundings import joined

if TYPE_CHECKING:
    from ..text.query import Query
    from .hit import Hit, Request

POOL = 100  # results that are tried, or more if so many may fit; as many as each leg finds, so that no ranking changes
SMALLEST = 200  # characters of a result

Result = dict[str, Any]


class Budget:
    """How many characters an answer may have.

    `cost` gives the characters of a result, with what stands between it and the next; `fixed` are those of an answer without
    results. By default the passages alone are counted.
    """

    def __init__(
        self, characters: int, cost: Callable[[Result], int] = lambda result: len(result["text"]), fixed: int = 0
    ) -> None:
        self.characters, self.cost, self.fixed = characters, cost, fixed

    @property
    def pool(self) -> int:
        """How many results to look for if nobody says it."""
        return max(POOL, self.characters // SMALLEST)


class Group:
    """Hits of one document whose chunks follow each other, as one result."""

    def __init__(self, hits: "Sequence[Hit]", make: "Callable[[Hit], Result]") -> None:
        """`hits`, the best one first, know their chunks. `make` gives the result of one of them."""
        chunks = {chunk.id: chunk for hit in hits for chunk in hit.chunks}
        self.hits, self.doc_id = hits, hits[0].doc_id
        self.first, self.last = min(chunks), max(chunks)
        text, start, end = joined(self.doc_id, [chunks[id] for id in sorted(chunks)])
        pages = hits[0].row.pages if hits[0].row else ()
        self.result = make(hits[0])
        self.result |= {"text": text, "start_line": start, "end_line": end, "citation": citation(self.doc_id, start, end, pages)}
        if pages:
            self.result["page"] = page(pages, start)
        self.result["also"] = list(dict.fromkeys(place for hit in hits for place in hit.also))

    def is_beside(self, hit: "Hit") -> bool:
        """Whether the hit's chunks overlap with the group's or follow them without a gap."""
        first, last = hit.chunks[0].id, hit.chunks[-1].id
        return hit.doc_id == self.doc_id and first <= self.last + 1 and last >= self.first - 1


def packed(hits: "Sequence[Hit]", request: "Request", query: "Query", make: "Callable[[Hit], Result]") -> list[Result]:
    """The results, in the order of the best hit of each. Hits come best first, and know their chunks.

    A hit that no longer fits is left out, and smaller ones after it may still get in. If nothing fits, the best sentences of
    the first one do; if not even one of these fits, there is no result.
    """
    budget = request.budget or Budget(0, lambda result: 0)
    left = budget.characters - budget.fixed
    groups: list[Group] = []
    costs: dict[Group, int] = {}
    for hit in hits:
        beside = [group for group in groups if group.is_beside(hit)]
        group = Group([*(one for other in beside for one in other.hits), hit], make)
        cost = budget.cost(group.result)
        more = cost - sum(costs[other] for other in beside)
        if more > left:
            continue
        left -= more
        costs[group] = cost
        if beside:
            groups[groups.index(beside[0])] = group
            groups = [other for other in groups if other not in beside[1:]]
        else:
            groups.append(group)
    if groups or not hits:
        return [group.result for group in groups]
    from .excerpt import excerpt

    shorter = excerpt(Group(hits[:1], make).result, query, lambda result: budget.cost(result) <= left)
    return [shorter] if shorter else []
