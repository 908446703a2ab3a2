"""What is to be looked for, as the index has it: the terms of each phrase of a query, and where phrases and prefixes stand."""

from collections.abc import Sequence
from typing import NamedTuple

from ....text.analyzer import stemmed
from ....text.query import Term
from ...shared.bm25 import CONTENT_WEIGHT, CONTEXT_WEIGHT, HEADING_WEIGHT
from ..connection import Connection
from .blocks import decoded
from .postings import COLUMN_END
from .stems import LONGEST, Tokenizer

WEIGHTS = (HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT)
JOINED = 3  # terms besides the rarest that choose the chunks in which a phrase is looked for

LAST = "\U0010ffff"  # after every character

TERMS = "select term, id, frequency from terms where space = %(space)s and term = any(%(terms)s)"
IDS = "select term, id from terms where space = %(space)s and term = any(%(terms)s)"
BEGINNING = "select id from terms where space = %(space)s and term >= %(start)s and term < %(end)s"
OF_TERMS = f"""
select chunk, sum(weight), min(length) from ({decoded("postings where term = any(%(ids)s)")}) p group by chunk
"""
CANDIDATES = """
select w.chunk, w.sequence, p0.length
from   {terms} join words w on w.chunk = p0.chunk
where  position(%(written)s in ' ' || array_to_string(w.sequence, ' ') || ' ') > 0
"""
OF_TERM = decoded("postings where term = %(t{n})s")

Found = list[tuple[int, float, int]]  # chunk, weighted occurrences, length of the chunk in tokens


class Phrase(NamedTuple):
    """A term of a query in the index. A single word has an `id`, and its postings are in the table; of all else they are `found`.

    `frequency` is the number of chunks that have it.
    """

    frequency: int
    id: int | None = None
    found: Found = []  # noqa: RUF012


NOTHING = Phrase(0)


class Phrases:
    """Looks up terms, each once: good for one state of the store."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn, self._space, self._tokenizer = conn, space, Tokenizer()
        self._known: dict[Term, Phrase] = {}

    def of(self, wanted: Sequence[Term]) -> list[Phrase]:
        """The phrase of each term."""
        new = [term for term in dict.fromkeys(wanted) if term not in self._known]
        if new:
            stems = self._tokenizer.terms([" ".join(map(stemmed, term.tokens)) for term in new])
            texts = list({stem for each in stems for stem in each})
            rows = self._conn.all(TERMS, {"space": self._space, "terms": texts})
            ids = {text: (id, frequency) for text, id, frequency in rows}
            for term, of_term in zip(new, stems, strict=True):
                self._known[term] = self._phrase(of_term, term.prefix, ids)
        return [self._known[term] for term in wanted]

    def alternatives(self, text: str, *, is_prefix: bool) -> list[list[int]]:
        """For each token of a text, the ids of the terms that it may be: one or none, or those that begin with a prefix."""
        [stems] = self._tokenizer.terms([text])
        ids = dict(self._conn.all(IDS, {"space": self._space, "terms": stems}))
        found = [[ids[stem]] if stem in ids else [] for stem in stems]
        return [*found[:-1], self._beginning(stems[-1])] if is_prefix and stems else found

    def _phrase(self, stems: list[str], is_prefix: bool, ids: dict[str, tuple[int, int]]) -> Phrase:
        if not stems or any(stem not in ids for stem in (stems[:-1] if is_prefix else stems)):
            return NOTHING
        if is_prefix:
            lasts = self._beginning(stems[-1])
            if not lasts:
                return NOTHING
            if len(stems) == 1:
                found = [(chunk, weight, length) for chunk, weight, length in self._conn.all(OF_TERMS, {"ids": lasts})]
                return Phrase(len(found), found=found)
        elif len(stems) == 1:
            id, frequency = ids[stems[0]]
            return Phrase(frequency, id)
        else:
            lasts = [ids[stems[-1]][0]]
        return self._together([ids[stem] for stem in (stems[:-1] if is_prefix else stems)], lasts, is_prefix)

    def _beginning(self, start: str) -> list[int]:
        end = start + (LAST if len(start) <= LONGEST else "")
        return [id for (id,) in self._conn.all(BEGINNING, {"space": self._space, "start": start, "end": end})]

    def _together(self, terms: list[tuple[int, int]], lasts: list[int], is_prefix: bool) -> Phrase:
        """The chunks that have these terms (id, frequency) side by side; with a prefix, then one of `lasts`."""
        choosing = sorted(dict.fromkeys(terms), key=lambda term: term[1])[: JOINED + 1]
        of_terms = " join ".join(
            f"({OF_TERM.format(n=n)}) p{n}" + (f" on p{n}.chunk = p0.chunk" if n else "") for n in range(len(choosing))
        )
        written = f" {' '.join(str(id) for id, _ in terms)} "
        parameters = {"written": written} | {f"t{n}": id for n, (id, _) in enumerate(choosing)}
        ids = [id for id, _ in terms]
        before = ids if is_prefix else ids[:-1]
        rows = self._conn.all(CANDIDATES.format(terms=of_terms), parameters)
        counted = ((chunk, occurrences(sequence, before, set(lasts)), length) for chunk, sequence, length in rows)
        found = [row for row in counted if row[1]]
        return Phrase(len(found), found=found)


def occurrences(sequence: Sequence[int], before: Sequence[int], lasts: set[int]) -> float:
    """How often the terms stand side by side, followed by one of `lasts`, each time with the weight of its column.

    [5, 7, 0, 5, 7, 0], [5], {7} -> 3.0: once in the heading, and once in the content
    """
    total, column, n = 0.0, 0, len(before)
    for at, id in enumerate(sequence):
        if id == COLUMN_END:
            column += 1
        elif id in lasts and at >= n and sequence[at - n : at] == before:
            total += WEIGHTS[column]
    return total
