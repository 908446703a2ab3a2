"""The last tier: fragments of a query as substrings of the chunks, for what is not a word, such as 'ollam', '→' and '🎉'."""

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from ....text.query import Query
from ...rows import Coverage
from ..connection import Connection
from .postings import ascii_lower

if TYPE_CHECKING:
    from ..selection import Selection

# Case is ignored in ASCII only, as SQLite's LIKE does; words are looked for in several spellings.
MATCHES = "(case when lower({text}) like any (%({name})s::text[]) then 1 else 0 end)"
WRITTEN, ORIGINAL = 'coalesce(w.written[4], w.written[2]) collate "C"', 'c.content collate "C"'
SEARCH = """
select   c.id, {count} as matches
from     chunks c join words w on w.chunk = c.id
where    c.space = %(space)s and ({any}) {rows}
order by 2 desc, {size}, c.id
limit    %(limit)s
"""
TEXTS = """
select w.chunk, c.content, w.written[1:3] from words w join chunks c on c.id = w.chunk where w.chunk = any(%(ids)s)
"""


def substring_search(
    conn: Connection, space: int, chosen: "Selection | None", query: Query, limit: int
) -> list[tuple[int, float]]:
    """The chunks that contain fragments of the query, with the share of all fragments that they contain."""
    written, original = query.fragments
    rows, parameters = chosen.condition("c.id") if chosen else ("", {})
    counts: list[str] = []
    given: dict[str, Any] = {"space": space, "limit": limit}
    for side, wanted in ((WRITTEN, written), (ORIGINAL, original)):
        for fragment in wanted:
            name = f"f{len(counts)}"
            spellings = (
                [fragment.lower()] if side is WRITTEN else [fragment, fragment.lower(), fragment.upper(), fragment.title()]
            )
            given[name] = ["%" + ascii_lower(re.sub(r"[\\%_]", r"\\\g<0>", each)) + "%" for each in dict.fromkeys(spellings)]
            counts.append(MATCHES.format(text=side, name=name))
    if not counts:
        return []
    sides = ((WRITTEN, counts[: len(written)]), (ORIGINAL, counts[len(written) :]))
    sizes = [f"case when {' + '.join(of_side)} > 0 then length({text}) else 0 end" for text, of_side in sides if of_side]
    count, either = " + ".join(counts), " or ".join(f"{each} > 0" for each in counts)
    size = f"greatest({', '.join(sizes)})"
    found = conn.all(SEARCH.format(count=count, any=either, rows=rows, size=size), {**parameters, **given})
    return [(id, matches / len(counts)) for id, matches in found]


def by_fragments(conn: Connection, query: Query, ids: Collection[int]) -> dict[int, Coverage]:
    """The share of the query's fragments that each chunk contains."""
    wanted = [piece.lower() for side in query.fragments for piece in side]
    answer = {}
    for chunk, content, written in conn.all(TEXTS, {"ids": list(ids)}):
        text = "\n".join([content, *written]).lower()
        has = [piece for piece in wanted if piece in text]
        answer[chunk] = Coverage(len(has) / max(len(wanted), 1), has)
    return answer
