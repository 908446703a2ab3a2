"""Find the phrases and fragments of a query in our postings.

`Phrases` looks up the terms of a query, and the chunks with a phrase or a prefix.
`substring_search` is the last resort, for what is not a word, such as '→' and '🎉'.
"""

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ...storage.bm25 import (
    CONTENT_WEIGHT,
    CONTEXT_WEIGHT,
    HEADING_WEIGHT,
    LONGEST_TERM,
    word_of_stem,
)
from ...storage.spelling import Choice, parts_of_similar
from ...text.analyzer import stemmed
from ...text.query import Query, Term
from .database import SpaceDatabase, numbers
from .fts5 import LONGEST, Tokenizer
from .postings import (
    COLUMN_END,
    IS_LIVE,
    MOST_LENGTH,
    SIZE_OF_SPACE,
    ascii_lower,
    decoded,
)
from .selection import LAST, Selection

COLUMNS = 3  # heading, content and context, each after the other in a sequence
# Of the terms of a phrase, the rarest choose the chunks in which it is looked for. Another one
# chooses, too, unless reading its postings takes longer than looking up the terms of the chunks that
# it would exclude. One look-up takes as long as POSTINGS_READ; a term is expected to leave one chunk
# in LEFT.
POSTINGS_READ = 30
LEFT = 3

TERMS = "select term, id, frequency from terms where space = %(space)s and term = any(%(terms)s)"
IDS = "select term, id from terms where space = %(space)s and term = any(%(terms)s)"
ALIKE = """
select term, frequency from terms
where  space = %(space)s and term >= %(first)s and term < %(end)s
and    frequency > 0 and length(term) <= %(longest)s
and    term like any (%(parts)s::text[]) and term !~ %(symbols)s
"""
SYMBOLS = "[\uf800-\uf8ff]"  # an identifier or a name has one; its parts are terms, too
WITH_TERM = decoded(
    "postings where term = (select id from terms where space = %(space)s and term = %(term)s)"
)
TEXT_WITH = f"""
select array_to_string(w.written[1:3], ' ')
from   ({WITH_TERM}) p join words w on w.space = %(space)s and w.chunk = p.chunk limit 1
"""
BEGINNING = "select id from terms where space = %(space)s and term >= %(start)s and term < %(end)s"
BLOCKS = "postings where space = %(space)s and term = any(%(ids)s)"
OF_TERMS = f"""
select chunk, sum(weight), min(length) from ({decoded(BLOCKS)}) p {{live}}
group  by chunk
"""
HAVING_ALL = """
select chunk from words
where  space = %(space)s and chunk = any(%(ids)s::bigint[]) and sequence @> %(terms)s::int[]
"""
# Looks for a phrase at each place of its rarest term, which has `before` terms before it and `after`
# terms after it. Each time counts with the weight of its column. An array of chunks, not a join: the
# planner would read the whole table for a phrase of common words.
TOGETHER = f"""
select {{number}}, w.chunk,
       sum(case cardinality(array_positions(sequence[: place], {COLUMN_END}))
           when 0 then {HEADING_WEIGHT} when 1 then {CONTENT_WEIGHT} else {CONTEXT_WEIGHT} end)::float8,
       least(min(cardinality(sequence)) - {COLUMNS - 1}, {MOST_LENGTH})
from   words w cross join unnest(array_positions(sequence, {{rarest}})) place
where  w.space = %(space)s and w.chunk = any(array(select p0.chunk from {{terms}}))
and    sequence[place - {{before}} : place + {{after}}] = {{ids}} {{followed}}
group  by w.chunk
"""
FOLLOWED = "and sequence[place + {after} + 1] = any({lasts})"
OF_TERM = decoded("postings where term = {id}")

Found = list[tuple[int, float, int]]  # chunk, weighted occurrences, length of the chunk in tokens


class Phrase(NamedTuple):
    """A term of a query in the index. A single word has an `id`, and its postings are in the table;
    those of anything else are in `found`.

    `frequency` is the number of chunks that have it. Of a term with `excluded_tokens`, these are fewer than
    the chunks that its inverse document frequency counts.
    """

    frequency: int
    id: int | None = None
    found: Found = []  # noqa: RUF012
    more: int = 0

    @property
    def frequency_for_idf(self) -> int:
        return self.frequency + self.more


NOTHING = Phrase(0)


class Adjacent(NamedTuple):
    """Terms (id, frequency) side by side; unless `lasts` is None, followed by one of those."""

    terms: Sequence[tuple[int, int]]
    lasts: Sequence[int] | None


class Phrases:
    """Looks up terms, each once. Use it for one state of the store."""

    def __init__(self, database: SpaceDatabase, tokenizer: Tokenizer) -> None:
        self._db = database
        self._tokenizer = tokenizer
        self._known: dict[Term, Phrase] = {}

    def of(self, wanted: Sequence[Term]) -> list[Phrase]:
        """The phrase of each term."""
        new = [term for term in dict.fromkeys(wanted) if term not in self._known]
        if new:
            stems = self._tokenizer.terms([" ".join(map(stemmed, term.tokens)) for term in new])
            texts = list({stem for each in stems for stem in each})
            rows = self._db.all(TERMS, {"terms": texts})
            ids = {text: (id, frequency) for text, id, frequency in rows}
            found = [
                self._phrase(of_term, term.prefix, ids)
                for term, of_term in zip(new, stems, strict=True)
            ]
            together = iter(self._together([each for each in found if isinstance(each, Adjacent)]))
            for term, each in zip(new, found, strict=True):
                phrase = next(together) if isinstance(each, Adjacent) else each
                self._known[term] = self._unless(phrase, term.excluded_tokens)
        return [self._known[term] for term in wanted]

    def substitutes_for(self, word: str, choice: Choice) -> list[str]:
        """The words to search in place of a word, spelled as in a chunk. `choice` chooses their
        terms.
        """
        [stems] = self._tokenizer.terms([stemmed(word)])
        if stems:
            stem = stems[0]
        else:
            stem = word
        parameters = {
            "parts": [f"%{part}%" for part in parts_of_similar(word, stem)],
            "longest": LONGEST_TERM,
            "symbols": SYMBOLS,
        }
        counts: dict[str, int] = {}

        def vocabulary(first: str, end: str) -> str:
            terms = dict(self._db.all(ALIKE, parameters | {"first": first, "end": end}))
            counts.update(terms)
            return "\n" + "".join(f"{term}\n" for term in terms)

        terms = choice(word, stem, vocabulary, lambda terms: {term: counts[term] for term in terms})
        return list(dict.fromkeys(map(self._word_for, terms)))

    def _word_for(self, term: str) -> str:
        """A word of a chunk for a term, which is a stem."""
        return word_of_stem(term, " ".join(self._db.column(TEXT_WITH, {"term": term})))

    def found(self, phrase: Phrase) -> Found:
        """The chunks that have a phrase of these."""
        if phrase.id is None:
            return phrase.found
        return self.postings([phrase.id])

    def postings(self, terms: Sequence[int]) -> Found:
        """The chunks that have any of these terms."""
        *_, dead = self._db.first(SIZE_OF_SPACE) or (0,)
        live = ""
        if dead:
            live = f"where {IS_LIVE.format(chunk='p.chunk')}"
        rows = self._db.all(OF_TERMS.format(live=live), {"ids": list(terms)})
        return [(chunk, weight, length) for chunk, weight, length in rows]

    def _phrase(
        self, stems: list[str], is_prefix: bool, ids: dict[str, tuple[int, int]]
    ) -> Phrase | Adjacent:
        fixed = stems[:-1] if is_prefix else stems
        if not stems or any(stem not in ids for stem in fixed):
            return NOTHING
        lasts = None
        if is_prefix:
            lasts = self._beginning(stems[-1])
            if not lasts:
                return NOTHING
            if not fixed:
                found = self.postings(lasts)
                return Phrase(len(found), found=found)
        elif len(stems) == 1:
            id, frequency = ids[stems[0]]
            return Phrase(frequency, id)
        return Adjacent([ids[stem] for stem in fixed], lasts)

    def _unless(self, phrase: Phrase, others: Sequence[str]) -> Phrase:
        """The phrase in the chunks that do not have all of these other words."""
        if not others or not phrase.frequency:
            return phrase
        found = self.found(phrase)
        [stems] = self._tokenizer.terms([" ".join(map(stemmed, others))])
        ids = dict(self._db.all(IDS, {"terms": list(set(stems))}))
        if all(stem in ids for stem in stems):
            given = {
                "ids": numbers(chunk for chunk, *_ in found),
                "terms": numbers(ids.values()),
            }
            having = set(self._db.column(HAVING_ALL, given))
            found = [row for row in found if row[0] not in having]
        return Phrase(len(found), found=found, more=phrase.frequency - len(found))

    def _beginning(self, start: str) -> list[int]:
        end = start + (LAST if len(start) <= LONGEST else "")
        return list(self._db.column(BEGINNING, {"start": start, "end": end}))

    def _together(self, wanted: Sequence[Adjacent]) -> list[Phrase]:
        """Look up phrases, all at once."""
        found: list[Found] = [[] for _ in wanted]
        if wanted:
            parts = map(_statement, range(len(wanted)), wanted)
            rows = self._db.all("union all".join(parts))
            for number, chunk, weight, length in rows:
                found[number].append((chunk, weight, length))
        return [Phrase(len(each), found=each) for each in found]


def _statement(number: int, wanted: Adjacent) -> str:
    """The statement that looks up a phrase."""
    ids = [id for id, _ in wanted.terms]
    rarest, *others = sorted(dict.fromkeys(wanted.terms), key=itemgetter(1))
    choosing = [rarest[0]]
    expected: float = rarest[1]
    for id, frequency in others:
        if frequency > POSTINGS_READ * expected:
            break
        choosing.append(id)
        expected /= LEFT
    terms = " join ".join(
        f"({OF_TERM.format(id=id)}) p{n}" + (f" on p{n}.chunk = p0.chunk" if n else "")
        for n, id in enumerate(choosing)
    )
    before = ids.index(rarest[0])
    after = len(ids) - 1 - before
    followed = ""
    if wanted.lasts is not None:
        followed = FOLLOWED.format(after=after, lasts=_array(wanted.lasts))
    return TOGETHER.format(
        number=number,
        rarest=rarest[0],
        before=before,
        after=after,
        ids=_array(ids),
        followed=followed,
        terms=terms,
    )


def _array(ids: Sequence[int]) -> str:
    """An array of integers in SQL."""
    return f"array[{', '.join(map(str, ids))}]"


# Ignores case only in ASCII, like SQLite's LIKE; other letters are searched in several spellings.
MATCHES = (
    """(case when lower(c.content collate "C") like any (%({name})s::text[]) then 1 else 0 end)"""
)
SEARCH = """
select   c.id, {count} as matches
from     chunks c join documents d on d.space = c.space and d.number = c.document
where    c.space = %(space)s and ({any}) {rows}
order by 2 desc, length(c.content), d.doc_id, c.id
limit    %(limit)s
"""


def substring_search(
    database: SpaceDatabase, chosen: Selection | None, query: Query, limit: int
) -> list[tuple[int, float]]:
    """The chunks that contain fragments of the query, with the share of all fragments that they
    contain.
    """
    rows, parameters = chosen.condition("c.id") if chosen else ("", {})
    counts: list[str] = []
    given: dict[str, Any] = {"limit": limit}
    for fragment in query.fragments:
        name = f"f{len(counts)}"
        spellings = [fragment, fragment.lower(), fragment.upper(), fragment.title()]
        given[name] = [
            "%" + ascii_lower(re.sub(r"[\\%_]", r"\\\g<0>", each)) + "%"
            for each in dict.fromkeys(spellings)
        ]
        counts.append(MATCHES.format(name=name))
    if not counts:
        return []
    statement = SEARCH.format(
        count=" + ".join(counts), any=" or ".join(f"{each} > 0" for each in counts), rows=rows
    )
    found = database.all(statement, {**parameters, **given})
    return [(id, matches / len(counts)) for id, matches in found]
