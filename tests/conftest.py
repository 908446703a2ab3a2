"""What tests share: a toy embedder that can be followed by hand, stores made with it, notes, the command, a fake Ollama.

Tests that need PostgreSQL are skipped where its server cannot be started, and fail there if HYBRID_MEMORY_TEST_POSTGRES=required.
"""

import os
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from hybrid_memory import HybridStore
from tests.command import NO_SERVER, Run, as_process, in_process
from tests.fake_ollama import FakeOllama

if TYPE_CHECKING:
    from tests.extras.postgres_server import PostgresServer

# A machine that many share is slow, which says nothing of a property.
# `--hypothesis-profile=default` tries 100 examples of each property, and minds slow ones.
settings.register_profile(
    "quick", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("quick")

# With it, as in many containers, each process of the command compiles all it imports again: half of the time of the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# What `connect` and `recall` remember of this user belongs to no test, and those of tests not there.
os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="state-")

EXTRAS = Path(__file__).parent / "extras"
TEMPLATE = "ready"  # the database that those of tests are copies of
# of databases: a worker of pytest-xdist has a range of its own
NUMBERS = count(10_000 * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]))

TOPICS = {  # word -> axis; a text points where its words do
    "server": 0, "host": 0, "machine": 0, "gpu": 0,
    "password": 1, "secret": 1, "credential": 1,
    "dog": 2, "puppy": 2, "cat": 2,
}  # fmt: skip


class TopicEmbedder:
    """Unit vectors over three topics and a little of everything; counts what it is asked for."""

    provider, model, query_prompt, document_prompt = "toy", "topics", "{text}", "{text}"

    def __init__(self) -> None:
        self.problem: str | None = None
        self.truncated: set[int] = set()
        self.queries: list[str] = []
        self.documents: list[str] = []

    def _vector(self, text: str) -> list[float]:
        if self.problem:
            return []
        vector = [0.0, 0.0, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0]
        for word in text.lower().replace(".", " ").replace("?", " ").split():
            if word in TOPICS:
                vector[TOPICS[word]] += 1.0
        length = sum(x * x for x in vector) ** 0.5
        return [x / length for x in vector]

    def embed(self, text: str) -> list[float]:
        self.queries.append(text)
        return self._vector(text)

    def embed_batch(self, texts: Sequence[str]) -> list[list[float]]:
        self.documents += texts
        return [self._vector(text) for text in texts]

    def dims(self) -> int:
        return 8

    def is_available(self) -> bool:
        return self.problem is None


@pytest.fixture
def embedder() -> TopicEmbedder:
    return TopicEmbedder()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked `both_engines` with each engine, but for what is about the tables of SQLite."""
    marks = metafunc.definition.get_closest_marker
    if "engine" in metafunc.fixturenames and marks("both_engines") and not marks("sqlite"):
        engines = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
        metafunc.parametrize("engine", engines, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the database server."""
    for item in items:
        asks_for_server = {"postgres", "postgres_path"} & {*getattr(item, "fixturenames", ())}
        if asks_for_server or item.path.parent.name == "postgres":
            item.add_marker(pytest.mark.postgres)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Measure the coverage of processes that tests start where the extras are tested only.

    It takes 120 ms of CPU for each, and those that other tests start reach hardly a line that is not reached without them.
    """
    if not any(item.path.is_relative_to(EXTRAS) for item in session.items):
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> str:
    """The name of the storage engine."""
    return getattr(request, "param", "sqlite")


@pytest.fixture(scope="session")
def postgres(testrun_uid: str) -> "Iterator[PostgresServer]":
    """A server with a database that has our tables. The workers of pytest-xdist share it, and each has databases of its own."""
    from tests.extras.postgres_server import NoServerError, PostgresServer

    # The path of a socket has at most 107 characters, and the server's user has to get there.
    folder = Path(tempfile.gettempdir(), f"hm-pg{testrun_uid[:12]}")
    try:
        with PostgresServer.shared(folder, TEMPLATE) as server:
            yield server
    except NoServerError as error:
        if os.environ.get("HYBRID_MEMORY_TEST_POSTGRES") == "required":
            pytest.fail(f"no PostgreSQL server: {error}")
        pytest.skip(f"no PostgreSQL server: {error}")


@pytest.fixture(scope="session")
def shared_database(postgres: "PostgresServer") -> Iterator[str]:
    """The address of the database that the tests of a worker use, one after the other: creating one takes as long as a test."""
    name = f"worker{next(NUMBERS)}"
    yield postgres.database(name, TEMPLATE)
    postgres.drop(name)


@pytest.fixture
def postgres_path(postgres: "PostgresServer", shared_database: str) -> Iterator[str]:
    """The address of an empty store."""
    yield shared_database
    postgres.empty(shared_database)


@pytest.fixture
def db_path(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    path: str = (
        request.getfixturevalue("postgres_path")
        if engine == "postgres"
        else str(tmp_path / "memory.db")
    )
    return path


@pytest.fixture
def store(db_path: str, embedder: TopicEmbedder) -> Iterator[HybridStore]:
    with HybridStore(db_path, embedder=embedder) as opened:
        yield opened


@pytest.fixture
def notes(tmp_path: Path) -> Callable[..., Path]:
    """Write files below a folder named memory: `notes(**{"a.md": "text"})`."""
    folder = tmp_path / "memory"

    def write(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder

    return write


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Nothing of the person who runs the tests: no config file, no variables, no server."""
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("HYBRID_MEMORY_", "OLLAMA_", "NO_COLOR", "FORCE_COLOR"))
    }
    (tmp_path / "config.json").write_text("{}")
    return kept | {
        "HYBRID_MEMORY_CONFIG": str(tmp_path / "config.json"),
        "HYBRID_MEMORY_DB_PATH": str(tmp_path / "cli.db"),
        "HYBRID_MEMORY_OLLAMA_URL": NO_SERVER,
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def run(environ: dict[str, str], tmp_path: Path) -> Run:
    """The command, run in this process."""

    def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return in_process(args, environ | (env or {}), tmp_path)

    return run


@pytest.fixture
def process(environ: dict[str, str], tmp_path: Path) -> Run:
    """The command as a process of its own."""

    def run(
        *args: str, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        return as_process(args, environ | (env or {}), tmp_path, **options)

    return run


@pytest.fixture
def ollama() -> Iterator[FakeOllama]:
    with FakeOllama() as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two notes in a folder named memory."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "2026-01-05.md").write_text(
        "# GPU server\n\n## SSH\n\nThe SSH password of the GPU server is hunter2.\n"
    )
    (folder / "pi.md").write_text("# Raspberry Pi\n\nIts IP address is 192.168.1.5.\n")
    return folder


def indexed_words(conn: sqlite3.Connection) -> list[tuple[int, str, str, int]]:
    """(rank of the chunk by id, column, word, position) of every word in the keyword index, as FTS5 itself tells."""
    conn.execute(
        "create virtual table temp.words using fts5vocab('main', 'chunks_fts', 'instance')"
    )
    numbers = {
        id: number for number, (id,) in enumerate(conn.execute("select id from chunks order by id"))
    }
    words = [
        (numbers[doc], col, term, at)
        for term, doc, col, at in conn.execute("select term, doc, col, offset from temp.words")
    ]
    conn.execute("drop table temp.words")
    return sorted(words)
