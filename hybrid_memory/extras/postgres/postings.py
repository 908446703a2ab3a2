"""Write the keyword index: terms with their frequencies, postings, and the indexed text of each
chunk. Needs a transaction.

Postings are stored in blocks: a row holds up to SIZE chunks of a term, as one integer each. Such an
entry has three parts, from the highest bit down: the distance from the id of the block's first
chunk to the chunk's id, the chunk's length in tokens (18 bits), and the number of times that it has
the term, each weighted by its column, in quarters (14 bits). The chunks of a block ascend. A row
for each posting would take six times the space, and most of the work of writing it would be the
row's.

Every transaction that adds chunks writes its own blocks. When a term has LOOSE small ones, they are
merged, so that a posting is written about four times in its life, as in a log-structured merge tree
(O'Neil et al., 1996).

A deleted chunk is removed from `words` and from all counts at once. Its entries stay in their
blocks, as in Lucene's segments, until these are rewritten: removing them at once would rewrite
nearly every block of every common word. By the time that DEAD_SHARE of the chunks are deleted,
every block has been rewritten, a slice of the terms at a time, so that a vacuum frees the space of
one slice before the next is written. A search looks up in `words` which of its best chunks still
exist.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

from ...storage.bm25 import CONTENT_WEIGHT, CONTEXT_WEIGHT, HEADING_WEIGHT
from ...text import analyzer
from ...text.terms import Terms, terms
from .database import SpaceDatabase, numbers, texts
from .fts5 import Tokenizer

SIZE = 128  # entries of a block; the server would store more of them outside of the row
SMALL = 64  # entries; blocks with fewer are merged
LOOSE = 16  # small blocks of a term that are merged
WEIGHT_BITS, LENGTH_BITS = 14, 18
MOST_WEIGHT, MOST_LENGTH = (1 << WEIGHT_BITS) - 1, (1 << LENGTH_BITS) - 1

PLACE = WEIGHT_BITS + LENGTH_BITS  # bits of an entry below the chunk's place
PAYLOAD = (1 << PLACE) - 1
CHUNK = f"(first + (entry >> {PLACE}))"
WEIGHT = f"((entry & {MOST_WEIGHT})::float8 / 4)"
LENGTH = f"((entry >> {WEIGHT_BITS}) & {MOST_LENGTH})"
# Packs the rows (term, space, chunk, entry) of `loose` into blocks. Only the payload of an entry is
# used.
PACKED = f"""
select term, space, first, last, array(select entry - (first << {PLACE}) from unnest(entries) entry)
from   (select term, space, min(chunk) as first, max(chunk) as last,
               array_agg(chunk << {PLACE} | (entry & {PAYLOAD}) order by chunk) as entries
        from (select *, (row_number() over (partition by term order by chunk) - 1) / {SIZE} as block
              from loose) numbered
        group by term, space, block) packed
"""
# Rewrites the blocks that match the condition {blocks}, with the entries that match {stays}.
MERGE = f"""
with old as (
    delete from postings where {{blocks}} returning term, space, first, entries
), entry as (
    select term, space, {CHUNK} as chunk, entry
    from   (select term, space, first, unnest(entries) as entry from old) one
), loose as (
    select * from entry where {{stays}}
), merged as (
    update terms set loose = 0 where {{terms}}
)
insert into postings (term, space, first, last, entries) {PACKED}
"""
HAS_CHUNK = """
exists (select from words where words.space = entry.space and words.chunk = entry.chunk)
"""
MERGE_SMALL = MERGE.format(
    blocks=f"term = any(%(terms)s) and cardinality(entries) < {SMALL}",
    terms="space = %(space)s and id = any(%(terms)s)",
    stays=HAS_CHUNK,
)
SLICES = 16  # of the terms of a space
MERGE_SLICES = MERGE.format(
    blocks=f"space = %(space)s and term %% {SLICES} = any(%(slices)s)",
    terms=f"space = %(space)s and id %% {SLICES} = any(%(slices)s) and loose > 0",
    stays=HAS_CHUNK,
)
# The share of a space's chunks that are removed while all slices are rewritten. If a fifth of them
# is edited at a time, this share needs the least space for dead entries and rewritten blocks
# together.
DEAD_SHARE = 0.5
LEAST_DEAD = 4000  # chunks that are removed, at least, while all slices are rewritten

SIZE_OF_SPACE = "select chunks, tokens, dead from spaces where id = %(space)s"
IS_LIVE = (
    # a look-up for each row, not a join
    "(select true from words where words.chunk = {chunk} and words.space = %(space)s)"
)


class PostingBlock(NamedTuple):
    """A row of the table `postings`."""

    term: int
    first: int
    last: int
    entries: list[int]


def payload(length: int) -> int:
    """An entry without its place and weight, for a chunk with this length in tokens."""
    return min(length, MOST_LENGTH) << WEIGHT_BITS


def blocks(term: int, entries: Sequence[int]) -> Iterator[PostingBlock]:
    """Yield the blocks of a term. Entries are sorted and hold full chunk ids."""
    for start in range(0, len(entries), SIZE):
        some = entries[start : start + SIZE]
        first = some[0] >> PLACE
        base = first << PLACE
        yield PostingBlock(term, first, some[-1] >> PLACE, [entry - base for entry in some])


def decoded(rows: str, *columns: str) -> str:
    """SQL for the postings (chunk, weight, length, and these columns) of the blocks in a FROM
    clause.
    """
    more = "".join(f", {column}" for column in columns)
    return f"""
        select {CHUNK} as chunk, {WEIGHT} as weight, {LENGTH} as length{more}
        from   (select first, unnest(entries) as entry{more} from {rows}) block
    """


BATCH = 4096  # chunks that are written together; most transactions have fewer
COLUMN_END = 0  # between two columns of a sequence; no term has this id

BLOCKS = 4096  # that are sent at once; the server writes them while the next ones are made

# The weights of columns, as in entries
QUARTERS = tuple(int(4 * weight) for weight in (HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT))

IDS_OF_TERMS = """
select term, id, loose from terms where space = %(space)s and term = any(%(terms)s::text[])
"""
NEW_TERMS = """
insert into terms (space, term, frequency, loose)
select %(space)s, term, added, small
from   unnest(%(terms)s::text[], %(counts)s::int[], %(small)s::int[]) new (term, added, small)
returning term, id
"""
COUNT_TERMS = """
with counted as (
update terms set frequency = frequency + added, loose = loose + small
from   unnest(%(ids)s::int[], %(counts)s::int[], %(small)s::int[]) change (number, added, small)
where  space = %(space)s and id = number and (added <> 0 or small <> 0)
returning id, frequency
)
select id from counted where frequency <= 0
"""
# COPY is not allowed for roles that see only some spaces. The arrays of many rows are sent as one,
# and each row has a part of it.
ADD_BLOCKS = """
insert into postings (term, space, first, last, entries)
select term, %(space)s, first, last, (%(entries)s::bigint[])[start:stop]
from   unnest(%(terms)s::int[], %(firsts)s::bigint[], %(lasts)s::bigint[], %(starts)s::int[],
              %(stops)s::int[]) new (term, first, last, start, stop)
"""
ADD_WORDS = """
insert into words (chunk, space, written, sequence)
select chunk, %(space)s, array[heading, content, context, looked_through],
       (%(sequences)s::int[])[start:stop]
from   unnest(%(chunks)s::bigint[], %(headings)s::text[], %(contents)s::text[], %(contexts)s::text[],
              %(through)s::text[], %(starts)s::int[], %(stops)s::int[])
       new (chunk, heading, content, context, looked_through, start, stop)
"""
ADD_TOTALS = """
update spaces set chunks = chunks + %(chunks)s, tokens = tokens + %(tokens)s where id = %(space)s
"""

# Removes chunks from the index, except for their entries in postings and the frequencies of terms:
# - gone: deletes the chunks from words; had: their terms, each once for a chunk
# - fewer: changes the totals of the space
# Returns each term with the number of the chunks that had it, for COUNT_TERMS.
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
    blocks="term = any(%(terms)s) and first <= %(chunk)s and last >= %(chunk)s",
    terms="false",
    stays=HAS_CHUNK,
)

CLEAR = """
delete from postings where space = %(space)s;
delete from words where space = %(space)s;
delete from terms where space = %(space)s;
update spaces set chunks = 0, tokens = 0, dead = 0, unmerged = 0, slice = 0 where id = %(space)s;
"""
IDS = "select id from chunks where space = %(space)s and id > %(after)s order by id limit 1000"
CHUNKS = """
select   c.document, c.id, c.heading_path, c.content, c.items, d.doc_id, d.collection, d.metadata,
         not exists (select from chunks f where f.space = c.space and f.document = c.document and f.id < c.id)
from     chunks c join documents d on d.space = c.space and d.number = c.document
where    c.space = %(space)s and c.id = any(%(ids)s)
order by c.document, c.id
"""
TITLES_AND_ALIASES = "select name from names where document = %(document)s and kind <> 'file'"


class Postings:
    """Collects the chunks that a transaction adds, and writes them together. Call `flush` before
    the commit.

    Most terms of a chunk that is edited come back with its new text. So the frequencies of terms
    also change in the flush, by the difference: if rows were written twice, they would leave two
    dead ones behind, and a term that leaves and comes back would get a new id.
    """

    def __init__(self, database: SpaceDatabase, tokenizer: Tokenizer) -> None:
        self._db = database
        self._tokenizer = tokenizer
        self._waiting: list[tuple[int, Terms, str | None]] = []
        self._lost: Counter[int] = Counter()  # removed chunks, by id of a term
        self.added = 0  # chunks added since the server's statistics were last updated
        self.removed = 0  # chunks removed since dead rows were last counted

    def add(self, chunks: "Iterable[tuple[int, Terms, str]]") -> None:
        """Index chunks: (chunks.id, terms, text)."""
        for id, of_chunk, content in chunks:
            through = None
            if not content.isascii() or "[[" in content:
                through = analyzer.searchable(content).lower()
                if through == ascii_lower(of_chunk[1]):
                    through = None
            self._waiting.append((id, of_chunk, through))
            if len(self._waiting) >= BATCH:
                self.flush()

    def add_again(self, ids: Sequence[int]) -> None:
        """Index chunks that are in the table already, in the order of their documents."""
        for _, group in groupby(self._db.all(CHUNKS, {"ids": list(ids)}), itemgetter(0)):
            rows = list(group)
            *_, doc_id, collection, metadata, is_first = rows[0]
            names = None
            if is_first:
                names = self.titles_and_aliases(rows[0][0])
            found = terms(
                doc_id,
                collection,
                metadata,
                (row[2:5] for row in rows),
                names,
            )
            self.add((row[1], of_chunk, row[3]) for row, of_chunk in zip(rows, found, strict=True))

    def count(self) -> int:
        """The number of chunks in the index. Takes the same time for any number."""
        [(chunks, *_)] = self._db.all(SIZE_OF_SPACE)
        return int(chunks)

    def titles_and_aliases(self, document: int) -> list[str]:
        """The titles and aliases of a document, by its number."""
        return list(self._db.column(TITLES_AND_ALIASES, {"document": document}))

    def forget(self) -> None:
        """Discard what is waiting, after its transaction has failed."""
        self._waiting = []
        self._lost.clear()

    def flush(self) -> None:
        """Write what is waiting."""
        rows, self._waiting = sorted(self._waiting, key=itemgetter(0)), []
        if rows:
            self._write(rows)
        elif self._lost:
            self._count({})

    def _write(self, rows: list[tuple[int, Terms, str | None]]) -> None:
        """Write chunks, in ascending order of their ids."""
        self.added += len(rows)
        lists = self._tokenizer.terms([text for _, of_chunk, _ in rows for text in of_chunk])
        of_chunks = [lists[start : start + 3] for start in range(0, len(lists), 3)]
        entries = entries_of([chunk for chunk, *_ in rows], of_chunks)
        size = {"chunks": len(rows), "tokens": sum(map(len, lists))}
        self._db.run(ADD_TOTALS, size)
        known = {}
        full = []
        for term, id, loose in self._db.all(IDS_OF_TERMS, {"terms": texts(entries)}):
            known[term] = id
            if loose >= LOOSE - 1:
                full.append(id)
        new = {term: entries[term] for term in entries if term not in known}
        ids = known | self._add_terms(new)
        if full:
            self._db.run(MERGE_SMALL, {"terms": full})
        written = _columns_of(rows)
        sequences = _parts("sequences", [_sequence(each, ids) for each in of_chunks])
        self._count({id: entries[term] for term, id in known.items()})
        made = _blocks_of({ids[term]: of_term for term, of_term in entries.items()})
        self._db.run(ADD_WORDS, {**written, **sequences})
        self._add_blocks(made)

    def _add_terms(self, new: dict[str, list[int]]) -> dict[str, int]:
        """Write new terms, and return their ids."""
        if not new:
            return {}
        return dict(self._db.all(NEW_TERMS, self._count_parameters(new) | {"terms": texts(new)}))

    def _add_blocks(self, made: Sequence[PostingBlock]) -> None:
        for start in range(0, len(made), BLOCKS):
            terms, firsts, lasts, written = zip(*made[start : start + BLOCKS], strict=True)
            columns = {
                "terms": numbers(terms),
                "firsts": numbers(firsts),
                "lasts": numbers(lasts),
                **_parts("entries", written),
            }
            self._db.run(ADD_BLOCKS, columns)

    def _count(self, entries: dict[int, list[int]]) -> None:
        """Change the frequencies of existing terms, by id, and delete those that no chunk has any
        more.
        """
        by_id = {id: entries.get(id, ()) for id in sorted({*entries, *self._lost})}
        added = [len(of_term) - self._lost[id] for id, of_term in by_id.items()]
        self._lost.clear()
        changes = self._count_parameters(by_id) | {"ids": numbers(by_id), "counts": numbers(added)}
        if unused := list(self._db.column(COUNT_TERMS, changes)):
            self._db.run(DROP_TERMS, {"ids": unused})

    def _count_parameters(self, entries: Mapping[Any, Sequence[int]]) -> dict[str, Any]:
        """The number of entries of each term, and whether they make a small block."""
        counts = [len(of_term) for of_term in entries.values()]
        small = numbers(int(0 < count < SMALL) for count in counts)
        return {"counts": numbers(counts), "small": small}

    def remove(self, ids: Sequence[int]) -> None:
        """Remove chunks from the index. Their ids are not used again."""
        if self._waiting:  # some of these chunks may be waiting
            self.flush()
        self.removed += len(ids)
        lost = self._db.all(REMOVE, {"ids": list(ids)})
        self._lost.update(dict(lost))
        self._merge_slices()

    def _merge_slices(self) -> None:
        """Rewrite as many slices as the number of removed chunks requires."""
        [(chunks, unmerged, slice)] = self._db.all(UNMERGED)
        of_a_slice = max(LEAST_DEAD, DEAD_SHARE * chunks) / SLICES
        end = slice + min(SLICES, int(unmerged / of_a_slice))
        slices = [number % SLICES for number in range(slice, end)]
        if slices:
            self._db.run(MERGE_SLICES, {"slices": slices})
            self._db.run(MERGED, {"slice": end % SLICES})

    def take_out(self, chunk: int) -> None:
        """Remove a chunk from the index that is added again with the same id."""
        self.flush()
        terms = list(self._db.column(TERMS_OF, {"chunk": chunk}))
        self.remove([chunk])
        self._db.run(MERGE_AROUND, {"terms": terms, "chunk": chunk})

    def rebuild(self) -> None:
        """Rebuild the index from the chunks."""
        self.forget()
        for statement in filter(str.strip, CLEAR.split(";")):
            self._db.run(statement)
        after = 0
        while ids := list(self._db.column(IDS, {"after": after})):
            after = ids[-1]
            self.add_again(ids)
        self.flush()


def ascii_lower(text: str) -> str:
    """The text in lower case, as in PostgreSQL's collation "C"."""
    return text.encode().lower().decode()  # bytes.lower changes ASCII only


def entries_of(
    chunks: Sequence[int], of_chunks: Sequence[Sequence[Sequence[str]]]
) -> dict[str, list[int]]:
    """The entries of each term, with whole chunk ids as their places, from the terms in the columns
    of chunks in ascending order.
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


def _blocks_of(entries: Mapping[int, list[int]]) -> list[PostingBlock]:
    """The blocks of terms, by id, in the order of the table's index."""
    return [block for id in sorted(entries) for block in blocks(id, entries[id])]


def _columns_of(rows: Sequence[tuple[int, Terms, str | None]]) -> dict[str, Any]:
    """The indexed text of chunks, as parameters of ADD_WORDS."""
    headings, contents, contexts = zip(*(of_chunk for _, of_chunk, _ in rows), strict=True)
    return {
        "chunks": numbers(chunk for chunk, *_ in rows),
        "headings": texts(headings),
        "contents": texts(contents),
        "contexts": texts(contexts),
        "through": texts(through for *_, through in rows),
    }


def _sequence(columns: Sequence[Sequence[str]], ids: Mapping[str, int]) -> list[int]:
    """The ids of the terms of all columns."""
    heading, content, context = (map(ids.__getitem__, terms) for terms in columns)
    return [*heading, COLUMN_END, *content, COLUMN_END, *context]


def _parts(name: str, lists: Sequence[list[int]]) -> dict[str, str]:
    """Lists as one array, and where each of them starts and stops in it."""
    stops = list(accumulate(map(len, lists)))
    return {
        name: numbers(chain.from_iterable(lists)),
        "starts": numbers([1, *(stop + 1 for stop in stops[:-1])]),
        "stops": numbers(stops),
    }
