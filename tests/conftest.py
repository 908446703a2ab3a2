"""A toy embedder that can be followed by hand, and stores made with it."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from hybrid_memory import HybridStore

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


@pytest.fixture
def db_path(tmp_path: Path) -> str:
    return str(tmp_path / "memory.db")


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
