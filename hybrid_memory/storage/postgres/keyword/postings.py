"""Write the keyword index: terms with their frequencies, postings, and what was indexed of each chunk. Needs a transaction."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter

from ....documents.terms import Terms, terms
from ....text import analyzer
from ...bm25 import CONTENT_WEIGHT, CONTEXT_WEIGHT, HEADING_WEIGHT
from ..connection import Connection
from .stems import Tokenizer

BATCH = 500  # chunks that are written together
COLUMN_END = 0  # stands between two columns of a sequence; no term has this id

KNOWN_TERMS = "select term, id from terms where space = %(space)s and term = any(%(terms)s)"
NEW_TERMS = """
insert into terms (space, term, frequency) select %(space)s, term, 0 from unnest(%(terms)s::text[]) term returning term, id
"""
ADD_FREQUENCIES = """
update terms set frequency = frequency + added from unnest(%(ids)s::int[], %(counts)s::int[]) as new (id, added)
where  terms.id = new.id
"""
# COPY is refused to roles that see some spaces only.
ADD_POSTINGS = """
insert into postings (chunk, term, space, weight, length)
select chunk, term, %(space)s, weight, length
from   unnest(%(chunks)s::bigint[], %(terms)s::int[], %(weights)s::real[], %(lengths)s::int[]) new (chunk, term, weight, length)
"""
ADD_WORDS = """
insert into words (chunk, space, written, sequence)
select chunk, %(space)s, array[heading, content, context, looked_through], sequence::int[]
from   unnest(%(chunks)s::bigint[], %(headings)s::text[], %(contents)s::text[], %(contexts)s::text[], %(through)s::text[],
              %(sequences)s::text[]) new (chunk, heading, content, context, looked_through, sequence)
"""
ADD_TOTALS = "update spaces set chunks = chunks + %(chunks)s, tokens = tokens + %(tokens)s where id = %(space)s"

REMOVE = """
with gone as materialized (
    delete from words where chunk = any(%(ids)s) returning chunk, sequence
), had as materialized (
    select distinct chunk, term from gone, unnest(sequence) term where term <> 0
), dropped as (
    delete from postings p using had where p.term = had.term and p.chunk = had.chunk
), rarer as (
    update terms set frequency = frequency - lost
    from   (select term, count(*)::int as lost from had group by term) less
    where  terms.id = less.term
    returning terms.id, frequency
), fewer as (
    update spaces set chunks = chunks - lost, tokens = tokens - length
    from   (select count(*) as lost, coalesce(sum(cardinality(array_remove(sequence, 0))), 0) as length from gone) less
    where  id = %(space)s
)
select id from rarer where frequency <= 0
"""
DROP_TERMS = "delete from terms where id = any(%(ids)s)"

CLEAR = """
delete from postings where space = %(space)s;
delete from words where space = %(space)s;
delete from terms where space = %(space)s;
update spaces set chunks = 0, tokens = 0 where id = %(space)s;
"""
IDS = "select id from chunks where space = %(space)s and id > %(after)s order by id limit 1000"
CHUNKS = """
select   c.document, c.id, c.heading_path, c.content, d.doc_id, d.collection, d.metadata,
         not exists (select from chunks f where f.document = c.document and f.id < c.id)
from     chunks c join documents d on d.number = c.document
where    c.id = any(%(ids)s)
order by c.document, c.id
"""
CALLED = "select name from names where document = %(document)s and kind <> 'file'"


class Postings:
    """Collects the chunks that a transaction adds, and writes them together: a `flush` has to come before the commit."""

    def __init__(self, conn: Connection, space: int) -> None:
        self._conn, self._space, self._tokenizer = conn, space, Tokenizer()
        self._waiting: list[tuple[int, Terms, str | None]] = []
        self.news = 0  # chunks that were added since the server last looked at how its rows are distributed

    def add(self, chunks: "Iterable[tuple[int, Terms, str]]") -> None:
        """Index chunks: chunks.id, terms and text."""
        for id, of_chunk, content in chunks:
            through = analyzer.searchable(content).lower()
            self._waiting.append((id, of_chunk, None if through == ascii_lower(of_chunk[1]) else through))
            if len(self._waiting) >= BATCH:
                self.flush()

    def add_again(self, ids: Sequence[int]) -> None:
        """Index chunks that are in the table, in the order of their documents."""
        for _, group in groupby(self._conn.all(CHUNKS, {"ids": list(ids)}), itemgetter(0)):
            rows = list(group)
            *_, doc_id, collection, metadata, is_first = rows[0]
            called = self.called(rows[0][0]) if is_first else None
            found = terms(doc_id, collection, metadata, ((path, content) for _, _, path, content, *_ in rows), called)
            self.add((row[1], of_chunk, row[3]) for row, of_chunk in zip(rows, found, strict=True))

    def called(self, document: int) -> list[str]:
        """Titles and aliases of a document, by its number."""
        return [name for (name,) in self._conn.all(CALLED, {"document": document})]

    def forget(self) -> None:
        """Drop what waits: its transaction has failed."""
        self._waiting = []

    def flush(self) -> None:
        """Write what waits."""
        rows, self._waiting = self._waiting, []
        if not rows:
            return
        self.news += len(rows)
        lists = self._tokenizer.terms([text for _, of_chunk, _ in rows for text in of_chunk])
        frequencies: Counter[str] = Counter()
        weighted: list[tuple[int, dict[str, float], int]] = []
        for number, (chunk, *_) in enumerate(rows):
            weights: dict[str, float] = {}
            of_columns = lists[3 * number : 3 * number + 3]
            for column, weight in zip(of_columns, (HEADING_WEIGHT, CONTENT_WEIGHT, CONTEXT_WEIGHT), strict=True):
                for term in column:
                    weights[term] = weights.get(term, 0.0) + weight
            frequencies.update(weights.keys())
            weighted.append((chunk, weights, sum(map(len, of_columns))))
        ids = self._ids(frequencies)
        self._conn.execute(
            ADD_POSTINGS,
            {
                "space": self._space,
                "chunks": [chunk for chunk, weights, _ in weighted for _ in weights],
                "terms": [ids[term] for _, weights, _ in weighted for term in weights],
                "weights": [weight for _, weights, _ in weighted for weight in weights.values()],
                "lengths": [length for _, weights, length in weighted for _ in weights],
            },
        )
        headings, contents, contexts = (list(texts) for texts in zip(*(of_chunk for _, of_chunk, _ in rows), strict=True))
        sequences = [_sequence(lists[3 * number : 3 * number + 3], ids) for number in range(len(rows))]
        chunks = [chunk for chunk, *_ in rows]
        texts = {"headings": headings, "contents": contents, "contexts": contexts, "through": [through for *_, through in rows]}
        self._conn.execute(ADD_WORDS, {"space": self._space, "chunks": chunks, "sequences": sequences, **texts})
        tokens = sum(length for *_, length in weighted)
        self._conn.execute(ADD_TOTALS, {"chunks": len(rows), "tokens": tokens, "space": self._space})

    def _ids(self, frequencies: Counter[str]) -> dict[str, int]:
        """The ids of terms, each of which is made more frequent by its count."""
        ids = dict(self._conn.all(KNOWN_TERMS, {"space": self._space, "terms": list(frequencies)}))
        if new := [term for term in frequencies if term not in ids]:
            ids |= dict(self._conn.all(NEW_TERMS, {"space": self._space, "terms": new}))
        changes = {"ids": [ids[term] for term in frequencies], "counts": list(frequencies.values())}
        self._conn.execute(ADD_FREQUENCIES, changes)
        return ids

    def remove(self, ids: Sequence[int]) -> None:
        """Take chunks out of the index."""
        self.flush()
        unused = [id for (id,) in self._conn.all(REMOVE, {"ids": list(ids), "space": self._space})]
        if unused:
            self._conn.execute(DROP_TERMS, {"ids": unused})

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
    return text.lower() if text.isascii() else "".join(c.lower() if c.isascii() else c for c in text)


def _sequence(columns: Sequence[Sequence[str]], ids: dict[str, int]) -> str:
    """The ids of the terms of all columns, as an array is written."""
    heading, content, context = ([ids[term] for term in terms] for terms in columns)
    return f"{{{','.join(map(str, [*heading, COLUMN_END, *content, COLUMN_END, *context]))}}}"
