"""A role of one space can neither read nor change anything of another space, not even with its own
SQL.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest

from hybrid_memory import HybridStore, StoreError
from hybrid_memory.extras.postgres.schema import OF_A_SPACE
from tests.conftest import NUMBERS, TEMPLATE, TopicEmbedder
from tests.extras.postgres.test_server import granted, sql
from tests.extras.postgres_server import PostgresServer

pytestmark = pytest.mark.large

SECRET = "# Hunter\n\nThe password of the xyzzy server is hunter2, see [[plugh]] #frobozz.\n"
HIDDEN = re.compile("hunter2|xyzzy|plugh|frobozz|secret-space", re.IGNORECASE)


class Scene(NamedTuple):
    """The addresses of the owner and of a writer of the space team-b, and the ids of the hidden
    space, and of a document and a chunk in it.
    """

    owner: str
    writer: str
    space: int
    document: int
    chunk: int


@pytest.fixture(scope="module")
def original(postgres: PostgresServer) -> Iterator[Scene]:
    """A scene that is made once, for tests that only read; others use a copy."""
    name = f"scene{next(NUMBERS)}"
    address = postgres.database(name, TEMPLATE)
    with HybridStore(address, {"space": "secret-space"}, embedder=TopicEmbedder()) as secret:
        secret.store("xyzzy", SECRET, {"project": "xyzzy"})
        secret.search("xyzzy")
    writer = granted(postgres, address, "writer", "team-b")
    with HybridStore(writer, {"space": "team-b"}, embedder=TopicEmbedder()) as mine:
        mine.store("mine", "gpu server")
    sql(address, "analyze")
    [(space, document, chunk)] = sql(
        address,
        "select space, document, id from hybrid_memory.chunks where content like '%hunter2%'",
    )
    yield Scene(address, writer, space, document, chunk)
    postgres.drop(name)


@pytest.fixture
def scene(postgres: PostgresServer, original: Scene) -> Iterator[Scene]:
    """A copy of the scene. The roles are those of the server, with the same rights in the copy."""
    name = f"scene{next(NUMBERS)}"
    owner = postgres.database(name, name_of(original.owner))
    yield original._replace(
        owner=owner, writer=original.writer.replace(f"@/{name_of(original.owner)}?", f"@/{name}?")
    )
    postgres.drop(name)


def name_of(address: str) -> str:
    """The database of an address."""
    return address.partition("@/")[2].partition("?")[0]


def hidden_rows(scene: Scene) -> dict[str, Any]:
    """All rows of the hidden space."""
    rows = {
        table: sorted(
            map(
                repr,
                sql(
                    scene.owner, f"select * from hybrid_memory.{table} where space = {scene.space}"
                ),
            )
        )
        for table in OF_A_SPACE
    }
    return rows | {
        "spaces": sql(scene.owner, f"select * from hybrid_memory.spaces where id = {scene.space}")
    }


QUESTIONS = (
    *(
        f"select t::text from hybrid_memory.{table} t"
        for table in (*OF_A_SPACE, "spaces", "space_roles")
    ),
    *(f"copy hybrid_memory.{table} to stdout" for table in (*OF_A_SPACE, "spaces")),
    "select content::int from hybrid_memory.chunks",
    "select 1 / (length(content) - length(content)) from hybrid_memory.chunks where content like '%hunter2%'",
    "explain (analyze, verbose) select * from hybrid_memory.chunks where content like '%hunter2%'",
    "update hybrid_memory.chunks set heading = heading returning content",
    "delete from hybrid_memory.chunks where content like '%hunter2%' returning content",
    "with t as (delete from hybrid_memory.terms where term = 'hunter2' returning *) select * from t",
    "insert into hybrid_memory.terms (space, frequency, term) values ((select min(id) from hybrid_memory.spaces), 1, 'hunter') "
    "on conflict (space, term) do update set frequency = terms.frequency returning terms.*",
)
# A function that costs nothing is run first, if the server lets it.
LEAK = """
create function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001 as
$$ begin raise notice 'seen: %', $1; return true; end $$;
select content from hybrid_memory.chunks where pg_temp.leak(content);
select term from hybrid_memory.terms where pg_temp.leak(term);
select doc_id from hybrid_memory.documents where pg_temp.leak(doc_id || coalesce(content, ''));
"""


def answered(address: str, question: str) -> list[str]:
    """All that the server tells: rows, notices and errors."""
    told: list[str] = []
    with psycopg.connect(address) as conn:
        conn.add_notice_handler(
            lambda notice: told.append(repr((notice.message_primary, notice.message_detail)))
        )
        try:
            if question.startswith("copy"):
                with conn.cursor().copy(question) as copied:
                    told += [bytes(block).decode() for block in copied]
            else:
                cursor = conn.execute(question)
                while True:
                    told += map(repr, cursor.fetchall() if cursor.description else [])
                    if not cursor.nextset():
                        break
        except psycopg.Error as error:
            told += [str(error), repr(error.diag.message_detail), repr(error.diag.context)]
        conn.rollback()
    return told


def test_nothing_of_another_space_is_told(original: Scene) -> None:
    before = hidden_rows(original)
    for question in (*QUESTIONS, LEAK):
        assert not [
            line
            for line in answered(original.writer, question)
            if HIDDEN.search(line.replace(question, "").replace("like '%hunter2%'", ""))
            and "~~ '%hunter2%'" not in line
        ], question
        assert hidden_rows(original) == before, question
    for space in ("secret-space", "new"):
        with pytest.raises(StoreError):
            HybridStore(original.writer, {"space": space}, embedder=TopicEmbedder())


ATTACKS = (
    *(f"update hybrid_memory.{table} set space = {{space}}" for table in OF_A_SPACE),
    *(f"delete from hybrid_memory.{table} where space = {{space}}" for table in OF_A_SPACE),
    "delete from hybrid_memory.spaces where id = {space}",
    "update hybrid_memory.spaces set chunks = 0, name = 'x' where id = {space}",
    "insert into hybrid_memory.space_roles values ({space}, current_user)",
    "insert into hybrid_memory.meta values ({space}, 'k', 'v')",
    "insert into hybrid_memory.query_embeddings values ({space}, 'k', 'v', 0)",
    # rows of the role's own space that point to a document of the hidden one
    "insert into hybrid_memory.chunks (id, document, space, start_line, end_line, chunk_id, heading, heading_path, content, content_hash) "
    "select 99999, {document}, id, 1, 1, 'x', '', '', 'planted', 'x' from hybrid_memory.spaces",
    "insert into hybrid_memory.names select {document}, id, 'planted', 'title', 'planted' from hybrid_memory.spaces",
    "insert into hybrid_memory.tags select {document}, id, 'planted' from hybrid_memory.spaces",
    "insert into hybrid_memory.links select {document}, id, 1, 1, 'planted', 'wikilink', 'planted' from hybrid_memory.spaces",
    "insert into hybrid_memory.extracts select {document}, id, null, 'planted' from hybrid_memory.spaces",
    "update hybrid_memory.chunks set document = {document}",
    "insert into hybrid_memory.postings select {chunk}, min(t.id), s.id, 1, 1 from hybrid_memory.spaces s, hybrid_memory.terms t group by s.id",
    "insert into hybrid_memory.words select {chunk}, id, array['planted'], array[1] from hybrid_memory.spaces",
)


def test_nothing_of_another_space_is_changed(scene: Scene, embedder: TopicEmbedder) -> None:
    before = hidden_rows(scene)
    for attack in ATTACKS:
        told = ""
        try:
            sql(scene.writer, attack.format(**scene._asdict()))
        except psycopg.Error as error:
            told = f"{error} {error.diag.message_detail}"
        assert not HIDDEN.search(told), attack
        assert hidden_rows(scene) == before, attack
    with HybridStore(scene.owner, {"space": "secret-space"}, embedder=embedder) as secret:
        assert [hit["text"] for hit in secret.search("xyzzy")] == [SECRET.strip()]
        whole = secret.storage.documents.whole("xyzzy")
        assert whole and "planted" not in repr(whole)
        assert secret.storage.checks.rows() == []
        assert secret.delete("xyzzy") == 1
        assert secret.store("xyzzy", SECRET) == 1


def test_scores_tell_nothing_of_another_space(scene: Scene, embedder: TopicEmbedder) -> None:
    def asked() -> Any:
        with HybridStore(scene.writer, {"space": "team-b"}, embedder=embedder) as mine:
            mine.store("mine", "gpu server")
            mine.store("other", "gpu dog")
            found = mine.search("gpu server xyzzy", explain=True)
            counts = {key: value for key, value in mine.stats().items() if key != "db_size_bytes"}
            return (
                [(hit["text"], hit["score"], hit["confidence"], hit["explain"]) for hit in found],
                counts,
                mine.storage.catalog.facets()["tags"],
            )

    before = asked()
    with HybridStore(scene.owner, {"space": "secret-space"}, embedder=embedder) as secret:
        for number in range(30):
            secret.store(f"more-{number}", f"gpu server xyzzy number {number}")
    assert asked() == before
