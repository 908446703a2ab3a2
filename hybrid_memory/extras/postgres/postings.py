"""Write the keyword index: terms with their frequencies, postings, and what was indexed of each
chunk. Needs a transaction.

Postings stand in blocks: a row holds up to SIZE chunks of a term, as one integer for each. From the
highest bit down, such an entry is how far the chunk's id is above that of the block's first chunk,
the chunk's length in tokens (18 bits), and how often it has the term, each column with its weight,
in quarters (14 bits). The chunks of a block ascend. A row for each posting would be six times as
large, and most of the work of writing it would be the row's.

Of the entries of a term that are written together, those that score highest are in the first block,
and a block has the highest share of a term's score that one of its entries gives, so that a search
leaves blocks unread that cannot reach its best (Ding and Suel, "Faster top-k document retrieval
using block-max indexes", 2011). The share depends on the average length of all chunks. A block has
the `average` with which its share was reckoned: with one that is k times as long, no share is more
than k times as large.

Every transaction that adds chunks writes blocks of its own. Once a term has LOOSE small ones, they
are merged, so that a posting is written some four times in its life, as in a log-structured merge
tree (O'Neil et al., 1996).

A chunk that leaves is taken out of `words` and of all counts at once. Its entries stay in their
blocks, as in Lucene's segments, until these are written anew: to take them out at once would be to
write nearly every block of every common word. By the time that DEAD_SHARE of the chunks have left,
every block was written anew, a slice of the terms at a time, so that a vacuum makes the room of one
slice free before the next is written. A search asks `words` which of its best chunks are still there.

The terms of a text are its words as FTS5 cuts and stems them. SQLite is the tokenizer, in memory,
so that a word has the same stem in both engines whatever its script. Every word is tokenized once
in the life of a process.
"""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from psycopg import Cursor

from ...documents.terms import Terms, terms
from ...storage.keyword import (
    CONTENT_WEIGHT,
    CONTEXT_WEIGHT,
    HEADING_WEIGHT,
    K1,
    WORDS_AND_STEMS,
    B,
)
from ...text import analyzer
from .connection import Connection

SIZE = 128  # entries of a block: more would not fit into a row without being stored apart from it
SMALL = 64  # entries: a block with fewer is merged with others
LOOSE = 16  # small blocks of a term
WEIGHT_BITS, LENGTH_BITS = 14, 18
MOST_WEIGHT, MOST_LENGTH = (1 << WEIGHT_BITS) - 1, (1 << LENGTH_BITS) - 1

PLACE = WEIGHT_BITS + LENGTH_BITS  # bits below that of the chunk's place
PAYLOAD = (1 << PLACE) - 1
CHUNK = f"(first + (entry >> {PLACE}))"
WEIGHT = f"((entry & {MOST_WEIGHT})::float8 / 4)"
LENGTH = f"((entry >> {WEIGHT_BITS}) & {MOST_LENGTH})"
# Of the most that a term can add to the score of a chunk
SHARE = f"weight / (weight + {K1} * ({1 - B} + {B} * length / %(average)s::float8))"

# Blocks of the rows (term, space, chunk, entry) of `loose`, where only the payload of an entry counts.
PACKED = f"""
select term, space, first, last, share, %(average)s,
       array(select entry - (first << {PLACE}) from unnest(entries) entry)
from   (select term, space, min(chunk) as first, max(chunk) as last, max(share) as share,
               array_agg(chunk << {PLACE} | (entry & {PAYLOAD}) order by chunk) as entries
        from (select *, (row_number() over by_share - 1) / {SIZE} as block
              from (select *, {SHARE} as share
                    from (select *, {WEIGHT} as weight, {LENGTH} as length from loose) read
                   ) scored
              window by_share as (partition by term order by share desc, chunk)) numbered
        group by term, space, block) packed
"""
# Writes the blocks that a condition names anew, without the entries of chunks that left.
MERGE = f"""
with old as (
    delete from postings where {{blocks}} returning term, space, first, entries
), entry as (
    select term, space, {CHUNK} as chunk, entry
    from   (select term, space, first, unnest(entries) as entry from old) one
), loose as (
    select * from entry where exists (
        select from words where words.space = entry.space and words.chunk = entry.chunk)
), merged as (
    update terms set loose = 0 where {{terms}}
)
insert into postings (term, space, first, last, share, average, entries) {PACKED}
"""
MERGE_SMALL = MERGE.format(
    blocks=f"term = any(%(terms)s) and cardinality(entries) < {SMALL}",
    terms="space = %(space)s and id = any(%(terms)s)",
)
SLICES = 16  # of the terms of a space
MERGE_SLICES = MERGE.format(
    blocks=f"space = %(space)s and term %% {SLICES} = any(%(slices)s)",
    terms=f"space = %(space)s and id %% {SLICES} = any(%(slices)s) and loose > 0",
)
# Of the chunks of a space: where a fifth is edited at a time, the room of entries that are dead and of
# blocks that were written anew is least, together, if as many leave while all slices are.
DEAD_SHARE = 0.5
LEAST_DEAD = 4000  # chunks that leave in any case while all slices are written anew

SIZE_OF_SPACE = "select chunks, tokens, dead from spaces where id = %(space)s"
AVERAGE = "select coalesce(tokens::float8 / nullif(chunks, 0), 1) from spaces where id = %(space)s"
IS_LIVE = (
    # looked up row by row, and no join
    "(select true from words where words.chunk = {chunk} and words.space = %(space)s)"
)


class Block(NamedTuple):
    """A row of the table."""

    term: int
    first: int
    last: int
    entries: list[int]


def payload(length: int) -> int:
    """Return an entry without its place and weight, for a chunk of so many tokens."""
    return min(length, MOST_LENGTH) << WEIGHT_BITS


def blocks(term: int, entries: Sequence[int], average: float) -> Iterator[Block]:
    """Yield the blocks of a term's entries, which ascend and have whole ids as their places, those
    that score highest first. Chunks have so many tokens on `average`.
    """

    def share(entry: int) -> float:
        length = entry >> WEIGHT_BITS & MOST_LENGTH
        return (entry & MOST_WEIGHT) / (1 - B + B * length / average)  # rises with SHARE

    if len(entries) <= SIZE:
        yield _block(term, entries)
        return
    best_first = sorted(entries, key=share, reverse=True)
    for start in range(0, len(entries), SIZE):
        yield _block(term, sorted(best_first[start : start + SIZE]))


def _block(term: int, entries: Sequence[int]) -> Block:
    first = entries[0] >> PLACE
    base = first << PLACE
    return Block(term, first, entries[-1] >> PLACE, [entry - base for entry in entries])


def decoded(rows: str, *columns: str) -> str:
    """Return SQL for the postings (chunk, weight, length, and these columns) in the blocks that a FROM
    clause gives.
    """
    more = "".join(f", {column}" for column in columns)
    return f"""
        select {CHUNK} as chunk, {WEIGHT} as weight, {LENGTH} as length{more}
        from   (select first, unnest(entries) as entry{more} from {rows}) block
    """


LONGEST = 500  # characters of a term: PostgreSQL indexes values of up to 2,700 bytes
MOST_KNOWN = 200_000  # words that are kept in memory

TOKENS = "select doc, term from stems order by doc, offset"


class Tokenizer:
    """Words -> terms."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def terms(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the terms of each text, in order. Texts are words separated by spaces, as the analyzer
        writes them.
        """
        split = [text.split(" ") if text else [] for text in texts]
        if len(self._known) > MOST_KNOWN:
            self._known.clear()
        known = self._known
        if new := set().union(*split).difference(known):
            known.update(_tokenized(list(new)))
        return [list(chain.from_iterable(map(known.__getitem__, words))) for words in split]


def _tokenized(words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {word: [] for word in words}
    conn = sqlite3.connect(":memory:")
    try:
        conn.executescript(WORDS_AND_STEMS)
        conn.executemany("insert into words (rowid, word) values (?, ?)", enumerate(words))
        for number, term in conn.execute(TOKENS):
            found[words[number]].append(fitting(term))
    finally:
        conn.close()
    return {word: tuple(terms) for word, terms in found.items()}


def fitting(term: str) -> str:
    """Return the term, the end of a long one replaced by its digest."""
    if len(term) <= LONGEST:
        return term
    return term[:LONGEST] + sha256(term.encode()).hexdigest()


BATCH = 4096  # chunks that are written together: all of most transactions
COLUMN_END = 0  # stands between two columns of a sequence; no term has this id

BLOCKS = 4096  # that are sent at once: the server writes them while the next ones are made

QUARTERS = tuple(
    int(4 * weight) for weight in (HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT)
)  # of columns, as entries have them

IDS_OF_TERMS = (
    "select term, id from terms where space = %(space)s and term = any(%(terms)s::text[])"
)
NEW_TERMS = """
insert into terms (space, term, frequency, loose)
select %(space)s, term, added, small
from   unnest(%(terms)s::text[], %(counts)s::int[], %(small)s::int[]) new (term, added, small)
returning term, id
"""
COUNT_TERMS = f"""
with counted as (
update terms set frequency = frequency + added, loose = loose + small
from   unnest(%(ids)s::int[], %(counts)s::int[], %(small)s::int[]) change (number, added, small)
where  space = %(space)s and id = number and (added <> 0 or small <> 0)
returning id, frequency, loose
)
select id, frequency from counted where frequency <= 0 or loose >= {LOOSE}
"""
# COPY is refused to roles that see some spaces only. The server reads arrays from one long text
# faster than one by one.
ADD_BLOCKS = f"""
insert into postings (term, space, first, last, share, average, entries)
select term, %(space)s, first, last,
       (select max({SHARE})
        from (select {WEIGHT} as weight, {LENGTH} as length from unnest(entries) entry) read),
       %(average)s, entries
from   (select term, first, last, entries::bigint[] as entries
        from   unnest(%(terms)s::int[], %(firsts)s::bigint[], %(lasts)s::bigint[],
                      string_to_array(%(entries)s, ' ')) written (term, first, last, entries)
        offset 0) new -- so that an array is read once
"""
ADD_WORDS = """
insert into words (chunk, space, written, sequence)
select chunk, %(space)s, array[heading, content, context, looked_through], sequence::int[]
from   unnest(%(chunks)s::bigint[], %(headings)s::text[], %(contents)s::text[], %(contexts)s::text[],
              %(through)s::text[], string_to_array(%(sequences)s, ' '))
       new (chunk, heading, content, context, looked_through, sequence)
"""
ADD_TOTALS = """
update spaces set chunks = chunks + %(chunks)s, tokens = tokens + %(tokens)s where id = %(space)s
returning tokens::float8 / chunks
"""

# Takes chunks out of the index, but for their entries in postings and the frequencies of terms:
# - gone: what was indexed of the chunks, deleted; had: its terms, each once a chunk
# - fewer: the totals of the space
# It returns of each term how many of the chunks had it, for COUNT_TERMS.
REMOVE = """
with gone as materialized (
    delete from words where space = %(space)s and chunk = any(%(ids)s) returning chunk, sequence
), had as (
    select distinct chunk, term from gone, unnest(sequence) term where term <> 0
), fewer as (
    update spaces set chunks = spaces.chunks - less.chunks, tokens = spaces.tokens - less.tokens,
           dead = dead + less.chunks, unmerged = unmerged + less.chunks
    from   (select count(*) as chunks, coalesce(sum(cardinality(array_remove(sequence, 0))), 0) as tokens
            from gone) less
    where  id = %(space)s
)
select term, count(*)::int from had group by term
"""
DROP_TERMS = """
with unused as (delete from postings where term = any(%(ids)s))
delete from terms where space = %(space)s and id = any(%(ids)s)
"""
UNMERGED = "select chunks, unmerged, slice from spaces where id = %(space)s"
MERGED = "update spaces set unmerged = 0, slice = %(slice)s where id = %(space)s"

TERMS_OF = (
    "select distinct unnest(sequence) from words where space = %(space)s and chunk = %(chunk)s"
)
MERGE_AROUND = MERGE.format(
    blocks="term = any(%(terms)s) and first <= %(chunk)s and last >= %(chunk)s", terms="false"
)

CLEAR = """
delete from postings where space = %(space)s;
delete from words where space = %(space)s;
delete from terms where space = %(space)s;
update spaces set chunks = 0, tokens = 0, dead = 0, unmerged = 0, slice = 0 where id = %(space)s;
"""
IDS = "select id from chunks where space = %(space)s and id > %(after)s order by id limit 1000"
CHUNKS = """
select   c.document, c.id, c.heading_path, c.content, d.doc_id, d.collection, d.metadata,
         not exists (select from chunks f where f.space = c.space and f.document = c.document and f.id < c.id)
from     chunks c join documents d on d.space = c.space and d.number = c.document
where    c.space = %(space)s and c.id = any(%(ids)s)
order by c.document, c.id
"""
CALLED = "select name from names where document = %(document)s and kind <> 'file'"


class Postings:
    """Collects the chunks that a transaction adds, and writes them together: a `flush` has to come
    before the commit.

    Most terms of a chunk that is edited are in it again. So the frequencies of terms change with the
    flush, too, by the difference: a row that is written twice leaves two dead ones behind, and a term
    that leaves and comes back would have a new id.
    """

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn, self._space, self._tokenizer = conn, space, Tokenizer()
        self._waiting: list[tuple[int, Terms, str | None]] = []
        self._lost: Counter[int] = Counter()  # by id of a term, the chunks that left
        self.news = 0  # chunks added since the server last looked at how its rows are distributed
        self.removed = 0  # chunks removed since dead rows were last counted

    def add(self, chunks: "Iterable[tuple[int, Terms, str]]") -> None:
        """Index chunks: chunks.id, terms and text."""
        for id, of_chunk, content in chunks:
            through: str | None = analyzer.searchable(content).lower()
            if through == ascii_lower(of_chunk[1]):
                through = None
            self._waiting.append((id, of_chunk, through))
            if len(self._waiting) >= BATCH:
                self.flush()

    def add_again(self, ids: Sequence[int]) -> None:
        """Index chunks that are in the table, in the order of their documents."""
        for _, group in groupby(
            self._conn.all(CHUNKS, {"space": self._space, "ids": list(ids)}), itemgetter(0)
        ):
            rows = list(group)
            *_, doc_id, collection, metadata, is_first = rows[0]
            called = None
            if is_first:
                called = self.called(rows[0][0])
            found = terms(
                doc_id,
                collection,
                metadata,
                ((path, content) for _, _, path, content, *_ in rows),
                called,
            )
            self.add((row[1], of_chunk, row[3]) for row, of_chunk in zip(rows, found, strict=True))

    def called(self, document: int) -> list[str]:
        """Return the titles and aliases of a document, by its number."""
        return [name for (name,) in self._conn.all(CALLED, {"document": document})]

    def forget(self) -> None:
        """Drop what waits: its transaction has failed."""
        self._waiting = []
        self._lost.clear()

    def flush(self) -> None:
        """Write what waits."""
        rows, self._waiting = sorted(self._waiting, key=itemgetter(0)), []
        if rows:
            self._write(rows)
        elif self._lost:
            self._drop_unused(self._count({}))

    def _write(self, rows: list[tuple[int, Terms, str | None]]) -> None:
        """Write chunks, the lowest id first."""
        self.news += len(rows)
        lists = self._tokenizer.terms([text for _, of_chunk, _ in rows for text in of_chunk])
        of_chunks = [lists[start : start + 3] for start in range(0, len(lists), 3)]
        entries = entries_of([chunk for chunk, *_ in rows], of_chunks)
        tokens = sum(map(len, lists))
        size = {"chunks": len(rows), "tokens": tokens, "space": self._space}
        [average] = self._conn.one(ADD_TOTALS, size)
        known = dict(self._conn.all(IDS_OF_TERMS, {"space": self._space, "terms": texts(entries)}))
        ids = known | self._add_terms(
            {term: entries[term] for term in entries if term not in known}
        )
        counted = self._count({id: entries[term] for term, id in known.items()})
        self._add_words(rows, of_chunks, ids)
        self._add_blocks({ids[term]: of_term for term, of_term in entries.items()}, average or 1.0)
        if loose := self._drop_unused(counted):
            # not before the chunks are in `words`, or they would be taken for some that left
            self._merge(MERGE_SMALL, terms=loose)

    def _add_terms(self, new: dict[str, list[int]]) -> dict[str, int]:
        """Write terms that no chunk had. Return their ids."""
        if not new:
            return {}
        return dict(self._conn.all(NEW_TERMS, self._counted(new) | {"terms": texts(new)}))

    def _add_words(
        self,
        rows: list[tuple[int, Terms, str | None]],
        of_chunks: Sequence[Sequence[Sequence[str]]],
        numbers: dict[str, int],
    ) -> None:
        """Write what is indexed of chunks, and their terms in order."""
        ids = {term: str(id) for term, id in numbers.items()}
        headings, contents, contexts = zip(*(of_chunk for _, of_chunk, _ in rows), strict=True)
        columns = {
            "chunks": array(chunk for chunk, *_ in rows),
            "headings": texts(headings),
            "contents": texts(contents),
            "contexts": texts(contexts),
            "through": texts(through for *_, through in rows),
            "sequences": " ".join([_sequence(columns, ids) for columns in of_chunks]),
        }
        self._conn.execute(ADD_WORDS, {"space": self._space, **columns})

    def _merge(self, statement: str, **which: Any) -> None:
        [average] = self._conn.one(AVERAGE, {"space": self._space})
        self._conn.execute(statement, which | {"space": self._space, "average": average or 1.0})

    def _add_blocks(self, entries: dict[int, list[int]], average: float) -> None:
        """Write the entries of terms, by id, in the order of the table's index."""
        made = (block for id in sorted(entries) for block in blocks(id, entries[id], average))
        while some := list(islice(made, BLOCKS)):
            terms, firsts, lasts, written = zip(*some, strict=True)
            columns = {
                "terms": array(terms),
                "firsts": array(firsts),
                "lasts": array(lasts),
                "entries": arrays(written),
                "average": average,
            }
            self._conn.execute(ADD_BLOCKS, columns | {"space": self._space})

    def _count(self, entries: dict[int, list[int]]) -> "Cursor[tuple[Any, ...]]":
        """Change the frequencies of terms that are known, by id. The rows are for `_drop_unused`."""
        by_id = entries | {id: [] for id in self._lost if id not in entries}
        added = [len(of_term) - self._lost[id] for id, of_term in by_id.items()]
        self._lost.clear()
        changes = self._counted(by_id) | {"ids": array(by_id), "counts": array(added)}
        return self._conn.execute(COUNT_TERMS, changes)

    def _drop_unused(self, counted: "Cursor[tuple[Any, ...]]") -> list[int]:
        """Drop those terms that no chunk has any more. Return the ids of those with LOOSE small blocks."""
        rows = counted.fetchall()
        unused = [id for id, frequency in rows if frequency <= 0]
        if unused:
            self._conn.execute(DROP_TERMS, {"space": self._space, "ids": unused})
        return [id for id, frequency in rows if frequency > 0]

    def _counted(self, entries: Mapping[Any, Sequence[int]]) -> dict[str, Any]:
        """Return how many entries each term has, and whether they make a small block."""
        counts = [len(of_term) for of_term in entries.values()]
        small = array(int(0 < count < SMALL) for count in counts)
        return {"space": self._space, "counts": array(counts), "small": small}

    def remove(self, ids: Sequence[int]) -> None:
        """Take chunks out of the index, whose ids are not used again."""
        if self._waiting:  # some of these chunks may be among them
            self.flush()
        self.removed += len(ids)
        lost = self._conn.all(REMOVE, {"ids": list(ids), "space": self._space})
        self._lost.update(dict(lost))
        self._merge_slices()

    def _merge_slices(self) -> None:
        """Write as many slices anew as chunks that have left ask for."""
        chunks, unmerged, slice = self._conn.one(UNMERGED, {"space": self._space})
        of_a_slice = max(LEAST_DEAD, DEAD_SHARE * chunks) / SLICES
        following = slice + min(SLICES, int(unmerged / of_a_slice))
        slices = [number % SLICES for number in range(slice, following)]
        if slices:
            self._merge(MERGE_SLICES, slices=slices)
            self._conn.execute(MERGED, {"space": self._space, "slice": following % SLICES})

    def take_out(self, chunk: int) -> None:
        """Take a chunk out of the index that is added again under its id."""
        self.flush()
        terms = [id for (id,) in self._conn.all(TERMS_OF, {"space": self._space, "chunk": chunk})]
        self.remove([chunk])
        self._merge(MERGE_AROUND, terms=terms, chunk=chunk)

    def rebuild(self) -> None:
        """Build the index anew from the chunks."""
        self.forget()
        for statement in filter(str.strip, CLEAR.split(";")):
            self._conn.execute(statement, {"space": self._space})
        after = 0
        while ids := [id for (id,) in self._conn.all(IDS, {"space": self._space, "after": after})]:
            after = ids[-1]
            self.add_again(ids)
        self.flush()


def ascii_lower(text: str) -> str:
    """The text as PostgreSQL lowers it in the collation "C"."""
    return text.encode().lower().decode()  # bytes know no letters but those of ASCII


def array(numbers: Iterable[int]) -> str:
    """Numbers as an array is written, which is much faster than passing them on as a list: [1, 2]
    -> "{1, 2}".
    """
    return f"{{{str(list(numbers))[1:-1]}}}"


def arrays(lists: Iterable[list[int]]) -> str:
    """Several such arrays, separated by spaces: [[1, 2], [3]] -> "{1,2} {3}"."""
    written = str(list(lists)).replace(" ", "")
    return written[1:-1].replace("],[", "} {").replace("[", "{").replace("]", "}")


def texts(values: Iterable[str | None]) -> str:
    """Texts as an array is written, which is faster, too: ['a', None] -> '{"a",NULL}'."""
    written = [
        "NULL" if value is None else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        for value in values
    ]
    return f"{{{','.join(written)}}}"


def entries_of(
    chunks: Sequence[int], of_chunks: Sequence[Sequence[Sequence[str]]]
) -> dict[str, list[int]]:
    """Return the entries of each term, with whole ids as their places, from the terms in the columns of
    chunks, the lowest id first.
    """
    entries: defaultdict[str, list[int]] = defaultdict(list)
    for chunk, columns in zip(chunks, of_chunks, strict=True):
        weights: dict[str, int] = {}
        for column, weight in zip(columns, QUARTERS, strict=True):
            for term in column:
                weights[term] = weights.get(term, 0) + weight
        length = sum(map(len, columns))
        base = chunk << PLACE | payload(length)
        if length * max(QUARTERS) > MOST_WEIGHT:
            weights = {term: min(weight, MOST_WEIGHT) for term, weight in weights.items()}
        for term, weight in weights.items():
            entries[term].append(base + weight)
    return entries


def _sequence(columns: Sequence[Sequence[str]], ids: dict[str, str]) -> str:
    """The ids of the terms of all columns, as an array is written."""
    heading, content, context = (map(ids.__getitem__, terms) for terms in columns)
    return f"{{{','.join([*heading, str(COLUMN_END), *content, str(COLUMN_END), *context])}}}"
