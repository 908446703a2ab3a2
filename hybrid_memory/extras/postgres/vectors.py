"""Find the chunks nearest to a query: an HNSW index of half-precision vectors proposes candidates,
and exact cosines rank them.

The embeddings of queries are cached, too (see storage/query_cache.py), except on a standby, or if the
role may not write.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import Any

from ...storage.encoding import SAMPLE, UnitVector, unit
from ...storage.rows import Ranking, best_first, best_of
from .chunks import in_order
from .database import SpaceDatabase
from .selection import Selection

# Chunks whose exact cosine is computed, or twice the limit if that is more: the errors of half
# precision are small
PROPOSED = 200
MOST_DIMS = 4000  # of an HNSW index of half-precision vectors
WORTH_AN_INDEX = 10_000  # embeddings: if there are fewer, all are compared

COSINE = "-(embedding <#> %(query)s::real[]::vector({dims}))"
# Embeddings of other dimensions are from other models, in other spaces.
PROPOSE = """
with near as materialized (
    select id, embedding from chunks c
    where  vector_dims(embedding) = {dims} and space = %(space)s {rows}
    order  by embedding::halfvec({dims}) <#> %(query)s::real[]::vector({dims})::halfvec({dims})
    fetch  first (%(proposed)s) rows with ties
)
select id, {cosine} as cosine from near order by 2 desc
"""
EXACT = """
with every as materialized (
    select id, {cosine} as cosine from chunks c where vector_dims(embedding) = {dims}
    and    space = %(space)s {rows}
)
select id, cosine from every order by 2 desc limit %(most)s
"""
BY_ID = (
    "select id, {cosine} from chunks where space = %(space)s and id = any(%(ids)s) "
    "and vector_dims(embedding) = {dims}"
)
OF = """
select embedding::real[] from chunks where space = %(space)s and id = %(id)s and embedding is not null
"""
DIMS = "select vector_dims(embedding) from chunks where space = %(space)s and embedding is not null limit 1"
# In the order of hashes, which is unrelated to meaning and the same in every engine. A text that
# occurs several times counts once.
SAMPLED = """
with sampled as materialized (
    select (select c.id from chunks c join documents d on d.space = c.space and d.number = c.document
            where  c.space = %(space)s and c.content_hash = hashes.content_hash
            and    c.embedding is not null order by d.doc_id, c.id limit 1) as id
    from   (
               select content_hash from chunks where space = %(space)s and embedding is not null
               group  by content_hash order by content_hash limit {sample}
           ) hashes
)
select id, {cosine} from chunks join sampled using (id)
where  space = %(space)s and vector_dims(embedding) = {dims}
"""

INDEX = "chunks_near_{dims}"
IS_INDEXED = "select to_regclass(%(name)s) is not null"
MAY_INDEX = """
select pg_has_role(relowner, 'usage') and exists (
           select from chunks where vector_dims(embedding) = %(dims)s offset %(least)s limit 1)
from   pg_class where oid = 'chunks'::regclass
"""
CREATE_INDEX = """
create index if not exists {name} on chunks using hnsw ((embedding::halfvec({dims})) halfvec_ip_ops)
with   (ef_construction = 128) -- with 64, some queries miss all of the ten nearest
where  vector_dims(embedding) = {dims}
"""


class VectorIndex:
    """The embeddings of a space, or of the chunks in a selection."""

    def __init__(self, database: SpaceDatabase, chosen: Selection | None = None) -> None:
        self._db = database
        self._chosen = chosen

    def nearest(
        self, vector: Sequence[float], limit: int = 10, *, exact: bool = False
    ) -> list[tuple[int, float]]:
        """(chunks.id, cosine) of the nearest chunks with a cosine above 0, best first, equal ones
        in the order of their documents.

        `exact` compares every embedding. An empty, zero or infinite vector has no results. Raises
        ValueError if the vector's dimension is not the store's.
        """
        query = self._query(vector)
        if query is None or limit < 1:
            return []
        rows, parameters = self._chosen.condition("c.id") if self._chosen else ("", {})
        is_listed = self._chosen is not None and self._chosen.ids is not None
        is_exact = exact or is_listed or len(query) > MOST_DIMS
        given = {**parameters, "query": list(query), "proposed": max(PROPOSED, 2 * limit)}
        found: Ranking = []
        if not is_exact:
            found = self._db.all(self._filled_in(PROPOSE, query, rows=rows), given)
        # With too few results, the selection is far from the query, and the index gave up
        if is_exact or (self._chosen and len(found) < limit):
            statement = self._filled_in(EXACT, query, rows=rows)
            found = best_of(
                lambda most: self._db.all(statement, given | {"most": most}),
                limit,
                self._in_order,
            )
        near = [hit for hit in found if hit[1] > 0]
        return best_first(near, self._in_order)[:limit]

    def _in_order(self, ids: Collection[int]) -> Iterable[int]:
        return in_order(self._db, ids)

    def cosines(self, vector: Sequence[float], chunk_ids: Iterable[int]) -> dict[int, float]:
        """The cosines of these chunks, without those that have no embedding. Raises ValueError as
        `nearest` does.
        """
        query = self._query(vector)
        ids = list(chunk_ids)
        if query is None or not ids:
            return {}
        given = {"query": list(query), "ids": ids}
        return dict(self._db.all(self._filled_in(BY_ID, query), given))

    def of(self, chunk_id: int) -> Sequence[float] | None:
        """The embedding of a chunk, or None."""
        row = self._db.first(OF, {"id": chunk_id})
        return row and row[0]

    def sample(self, vector: Sequence[float]) -> dict[int, float]:
        """The cosines of at most SAMPLE chunks from all over the store, which show how near a query
        is to chunks in general.
        """
        query = self._query(vector)
        if query is None:
            return {}
        statement = self._filled_in(SAMPLED, query, sample=SAMPLE)
        return dict(self._db.all(statement, {"query": list(query)}))

    @cached_property
    def _dims(self) -> int:
        """The dimensions of the embeddings; 0 before the first."""
        [dims] = self._db.first(DIMS) or (0,)
        return int(dims)

    def _query(self, vector: Sequence[float]) -> UnitVector | None:
        if not vector or not self._dims:
            return None
        if len(vector) != self._dims:
            raise ValueError(
                f"the query has {len(vector)} dimensions, the store's embeddings have {self._dims}"
            )
        return unit(vector)

    def _filled_in(self, statement: str, query: UnitVector, **parts: Any) -> str:
        dims = len(query)
        return statement.format(dims=dims, cosine=COSINE.format(dims=dims), **parts)


def ensure_index(database: SpaceDatabase, dims: int) -> None:
    """Create the HNSW index of embeddings of this dimension, if there are enough of them and the
    role may. Needs a transaction.
    """
    name = INDEX.format(dims=dims)
    if dims > MOST_DIMS or database.number(IS_INDEXED, {"name": name}):
        return
    if database.number(MAY_INDEX, {"dims": dims, "least": WORTH_AN_INDEX}):
        database.run(CREATE_INDEX.format(name=name, dims=dims))


def rebuild(database: SpaceDatabase) -> None:
    """Rebuild the HNSW index of the space's embeddings, if the role may. Needs a transaction."""
    row = database.first(DIMS)
    if row is None:
        return
    name = INDEX.format(dims=row[0])
    if database.number(IS_INDEXED, {"name": name}):
        if database.number(MAY_INDEX, {"dims": row[0], "least": 0}):
            database.run(f"reindex index {name}")
    else:
        ensure_index(database, row[0])
