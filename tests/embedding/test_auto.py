"""The provider "auto": Ollama if it embeds a word, else the built-in model."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore, config
from hybrid_memory.sync.ingest import Ingest
from tests.fake_ollama import FakeOllama

OLLAMA, BUILTIN = "nomic-embed-text", "builtin-en-256-v3"
GIVE_UP = 60.0  # seconds

Remember = Callable[[], tuple[str, list[str], bool]]


@pytest.fixture
def remember(tmp_path: Path, folder: Path, ollama: FakeOllama) -> Remember:
    """Ingest the notes where nobody has chosen a model. Return the model, the problems, and whether
    there is advice to pull a model.
    """

    def run() -> tuple[str, list[str], bool]:
        environ = {"OLLAMA_HOST": ollama.url, "HYBRID_MEMORY_QUERY_TIMEOUT": "1"}
        with HybridStore(tmp_path / "m.db", config.load(None, {}, environ)) as store:
            report = Ingest(store, incremental=True).run([str(folder)])
            identity = store.storage.embeddings.identity()
            assert identity
            assert report.pending == 0
            return identity["model"], report.embedding_problems, store.advice is not None

    return run


@pytest.mark.parametrize(
    ("switch", "value", "problem"),
    [
        ("models", ["other"], None),
        ("cannot_load", "exit status 137", "terminated: exit status 137"),
        ("chat", True, "is not an embedding model"),
        ("dims", 384, "gives 384 dimensions"),
        ("slow", 3.0, "did not answer within 1 s"),
        ("error", (500, "out of memory"), "out of memory"),
    ],
)
def test_the_built_in_model_embeds_unless_ollama_does(
    ollama: FakeOllama, remember: Remember, switch: str, value: Any, problem: str | None
) -> None:
    works = getattr(ollama, switch)
    setattr(ollama, switch, value)
    model, problems, is_advised = remember()
    assert model == BUILTIN
    assert len(problems) == (problem is not None)
    assert is_advised == (problem is None)  # pulling a model that is there does not cure it
    for line in problems:
        assert problem
        assert problem in line
        assert line.endswith("; meanwhile, the built-in model embeds")
    setattr(ollama, switch, works)
    assert remember() == (OLLAMA, [], False)


def test_the_built_in_model_embeds_if_ollama_is_stopped(
    ollama: FakeOllama, remember: Remember
) -> None:
    ollama.stop()
    assert remember() == (BUILTIN, [], True)
    ollama.start()
    assert remember() == (OLLAMA, [], False)


def test_a_model_that_loads_slowly_is_loaded_for_the_next_ingest(
    ollama: FakeOllama, remember: Remember
) -> None:
    ollama.cold = 3.0
    assert remember()[0] == BUILTIN
    started = time.monotonic()
    while ollama.cold:
        assert time.monotonic() - started < GIVE_UP
        time.sleep(0.05)
    assert remember() == (OLLAMA, [], False)
