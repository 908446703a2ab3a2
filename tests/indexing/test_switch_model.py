"""A change of model: the old embeddings answer until the new ones are complete, whatever happens meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras.doctor import examine
from hybrid_memory.indexing import pending
from hybrid_memory.indexing.pending import building
from hybrid_memory.storage.sqlite import vectors as blocks
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.command import NO_SERVER, Run, answer
from tests.conftest import TopicEmbedder
from tests.fake_ollama import FakeOllama, Refusal

COUNT = 40  # chunks: three batches
BATCH = 16
DONE = 24  # chunks that have an embedding after half of the second batch
REQUESTS = 1 + DONE // 4  # until then: a probe, and four texts in each
DIMS = 64


def texts(count: int) -> dict[str, str]:
    return {f"{number}.md": f"note {number} about the gpu server" for number in range(count)}


TEXTS = texts(COUNT)

Notes = Callable[..., Path]


class Failing(FakeOllama):
    """Loses its model after so many requests to embed."""

    requests_left = 10**9

    def _embed(self, body: Any, connection: Any) -> Any:
        self.requests_left -= 1
        if self.requests_left < 0:
            raise Refusal(404, f"model '{body['model']}' not found")
        return super()._embed(body, connection)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending, "BATCH", BATCH)


@pytest.fixture
def failing() -> Iterator[Failing]:
    with Failing(dims=DIMS) as server:
        yield server


@pytest.fixture
def builtin(environ: dict[str, str], run: Run, notes: Notes) -> dict[str, str]:
    """The environment of a store with the embeddings of the built-in model."""
    environ["HYBRID_MEMORY_PROVIDER"] = "builtin"
    answer(run("ingest", "--path", str(notes(TEXTS))))
    return environ


@pytest.fixture
def folder(db_path: str, notes: Notes) -> Path:
    """Notes in a store with the embeddings of the built-in model."""
    folder = notes(TEXTS)
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        Ingest(store).run([str(folder)])
    return folder


def ollama(environ: dict[str, str], server: FakeOllama) -> None:
    environ |= {
        "HYBRID_MEMORY_PROVIDER": "ollama",
        "HYBRID_MEMORY_OLLAMA_URL": server.url,
        "HYBRID_MEMORY_DIMS": str(DIMS),
    }


def settings(server: FakeOllama, **others: Any) -> dict[str, Any]:
    return {"ollama_url": server.url, "dims": DIMS, **others}


def problems(store: HybridStore) -> list[str]:
    return [finding.check for finding in examine(store) if finding.ok is False]


def test_a_server_that_fails_midway_leaves_the_old_embeddings_and_the_next_run_goes_on(
    builtin: dict[str, str], run: Run, failing: Failing, tmp_path: Path
) -> None:
    ollama(builtin, failing)
    failing.requests_left = REQUESTS
    done = run("reindex", "--embeddings")
    assert done.returncode == 1
    assert json.loads(done.stdout) | {"chunks": 0} == {
        "status": "incomplete",
        "embedded": DONE,
        "pending": 0,
        "chunks": 0,
    }
    assert f"{DONE} of {COUNT} chunks have an embedding by ollama nomic-embed-text" in done.stderr
    stats = answer(run("stats"))
    assert stats["embeddings"]["provider"] == "builtin"
    assert (stats["embedded_count"], stats["building"]) == (
        COUNT,
        {"model": "ollama nomic-embed-text", "done": DONE, "of": COUNT},
    )
    found = run("search", "gpu server", "--limit", "1")
    assert answer(found)[0]["source"] == "hybrid"
    assert "answering with the embeddings of builtin" in found.stderr
    doctor = run("doctor", "--json")
    assert any(
        f"has embedded {DONE} of {COUNT} chunks" in finding["text"]
        for finding in json.loads(doctor.stdout)
    )
    failing.requests_left = 10**9
    failing.embedded.clear()
    report = answer(run("ingest", "--path", str(tmp_path / "memory"), "--incremental"))
    assert (report["embedded"], report["pending"]) == (COUNT - DONE, 0)
    assert len([text for text in failing.embedded if "note" in text]) == COUNT - DONE
    stats = answer(run("stats"))
    assert (stats["embeddings"]["provider"], stats["embedded_count"], stats["building"]) == (
        "ollama",
        COUNT,
        None,
    )


@pytest.mark.parametrize("command", ["reindex", "ingest"])
def test_without_a_server_nothing_changes_and_the_exit_status_says_so(
    builtin: dict[str, str], run: Run, command: str
) -> None:
    builtin |= {"HYBRID_MEMORY_PROVIDER": "ollama", "HYBRID_MEMORY_OLLAMA_URL": NO_SERVER}
    options = (
        ["--embeddings"]
        if command == "reindex"
        else ["--path", str(Path(builtin["HYBRID_MEMORY_CONFIG"]).parent / "memory")]
    )
    done = run(command, *options)
    if command == "reindex":
        assert (done.returncode, json.loads(done.stdout)["status"]) == (1, "incomplete")
    assert "start it with `ollama serve`" in done.stderr
    stats = answer(run("stats"))
    assert (stats["embedded_count"], stats["pending_count"], stats["building"]) == (COUNT, 0, None)


def test_a_change_that_is_killed_goes_on_where_it_was(
    builtin: dict[str, str], run: Run, failing: Failing, tmp_path: Path
) -> None:
    ollama(builtin, failing)
    code = (
        "from hybrid_memory import cli\n"
        "from hybrid_memory.indexing import pending\n"
        f"pending.BATCH = {BATCH}\n"
        "cli.main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "reindex", "--embeddings"], env=builtin, cwd=tmp_path
    )
    until = time.monotonic() + 60
    while len(failing.embed_requests) <= REQUESTS and time.monotonic() < until:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    stats = answer(run("stats"))
    assert (stats["embeddings"]["provider"], stats["embedded_count"]) == ("builtin", COUNT)
    made = stats["building"]["done"]
    assert BATCH <= made < COUNT
    failing.embedded.clear()
    assert answer(run("reindex", "--embeddings"))["embedded"] == COUNT - made
    assert answer(run("stats"))["embeddings"]["provider"] == "ollama"


def test_the_same_model_anew_keeps_what_it_has_until_all_is_made(
    failing: Failing, db_path: str, notes: Notes
) -> None:
    with HybridStore(db_path, settings(failing)) as store:
        Ingest(store).run([str(notes(TEXTS))])
        before = [store.storage.embeddings.known([row[0]]) for row in hashes(store)]
        failing.requests_left = REQUESTS
        assert not store.embed(anew=True).fits
        assert [store.storage.embeddings.known([row[0]]) for row in hashes(store)] == before
        failing.requests_left = 10**9
        failing.embedded.clear()
        embedded = store.embed()  # what an ingest does
        assert (embedded.chunks, embedded.fits) == (COUNT - DONE, True)
        assert problems(store) == []


def hashes(store: HybridStore) -> list[tuple[bytes]]:
    found: list[tuple[bytes]] = store.storage.connection.execute(
        "select content_hash from chunks order by id"
    ).fetchall()  # type: ignore[attr-defined]
    return found


def test_the_new_embeddings_are_those_that_a_fresh_store_has(
    failing: Failing, db_path: str, tmp_path: Path, notes: Notes
) -> None:
    folder = notes(texts(150))  # more than the nearest are chosen from
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        Ingest(store).run([str(folder)])
    with (
        HybridStore(db_path, settings(failing)) as store,
        HybridStore(tmp_path / "fresh.db", settings(failing)) as fresh,
    ):
        Ingest(store, incremental=True).run([str(folder)])
        Ingest(fresh).run([str(folder)])
        assert store.stats()["embeddings"] == fresh.stats()["embeddings"]
        rows = "select doc_id, embedding, truncated, unembeddable from chunks order by doc_id, id"
        ours, theirs = (each.storage.connection.execute(rows).fetchall() for each in (store, fresh))  # type: ignore[attr-defined]
        assert ours == theirs
        query = [0.1] * DIMS
        assert store.storage.vectors().nearest(query, 20) == store.storage.vectors().nearest(
            query, 20, exact=True
        )
        assert problems(store) == []


def test_a_failure_while_the_sets_are_exchanged_leaves_the_old_one(
    failing: Failing, db_path: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    with HybridStore(db_path, settings(failing)) as store:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(blocks, "rebuild", lambda conn: (_ for _ in ()).throw(KeyboardInterrupt))
            store.embed()
        assert store.stats()["embeddings"]["provider"] == "builtin"
        assert building(store.storage) == {
            "model": "ollama nomic-embed-text",
            "done": COUNT,
            "of": COUNT,
        }
        assert store.search("gpu")[0]["source"] == "hybrid"
        failing.embedded.clear()
        assert store.embed().fits
        assert failing.embedded == ["search_document: probe"]


def test_what_is_new_meanwhile_gets_both_embeddings(
    failing: Failing, db_path: str, notes: Notes, folder: Path
) -> None:
    with HybridStore(db_path, settings(failing)) as store:
        failing.requests_left = REQUESTS
        Ingest(store, incremental=True).run([str(folder)])
        notes({"new.md": "the kettle in the kitchen"})
        failing.requests_left = 3
        report = Ingest(store, incremental=True).run([str(folder)])
        assert (report.files, report.pending) == (1, 0)
        assert store.stats()["embeddings"]["provider"] == "builtin"
        assert store.search("kettle", mode="vector")[0]["doc_id"] == "memory/new.md"
        store.store("told", "a teapot")
        assert store.stats()["pending_count"] == 0
        failing.requests_left = 10**9
        assert store.embed().fits
        assert (store.stats()["embedded_count"], problems(store)) == (COUNT + 2, [])


def test_settings_that_are_changed_back_end_the_change(
    failing: Failing, db_path: str, folder: Path
) -> None:
    with HybridStore(db_path, settings(failing)) as store:
        failing.requests_left = REQUESTS
        store.embed()
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        Ingest(store, incremental=True).run([str(folder)])
        assert store.stats()["building"] is None
        assert (store.stats()["embeddings"]["provider"], problems(store)) == ("builtin", [])


def test_a_few_texts_that_the_model_refuses_do_not_hold_up_the_others(
    failing: Failing, db_path: str, notes: Notes
) -> None:
    folder = notes(texts(100) | {"odd.md": "a poisonous text"})
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        Ingest(store).run([str(folder)])
    with HybridStore(db_path, settings(failing)) as store:
        failing.nan = "poisonous"
        assert store.embed().fits
        assert (store.stats()["embedded_count"], store.stats()["pending_count"]) == (100, 1)


def test_many_texts_that_the_model_refuses_do(failing: Failing, db_path: str) -> None:
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        for number in range(10):
            store.store(f"good/{number}", f"good {number}")
            store.store(f"bad/{number}", f"poisonous {number}")
    with HybridStore(db_path, settings(failing)) as store:
        failing.spoilt, failing.spoilt_vector = "poisonous", [0.0] * DIMS
        embedded = store.embed()
        assert not embedded.fits
        assert store.stats()["building"] == {
            "model": "ollama nomic-embed-text",
            "done": 10,
            "of": 20,
        }
        assert store.stats()["embeddings"]["provider"] == "builtin"


def test_the_last_chunk_of_a_model_that_knows_no_word_of_it_is_no_failure(db_path: str) -> None:
    toy = TopicEmbedder()
    with HybridStore(db_path, embedder=toy) as store:
        store.store("zh", "服务器的密码")
        store.store("en", "the password of the server")
    with HybridStore(db_path, {"provider": "builtin-english"}) as store:
        assert store.embed().fits
        counts = store.stats()
        assert (
            counts["embedded_count"],
            counts["pending_count"],
            counts["unembeddable_count"],
        ) == (1, 0, 1)


def test_another_process_that_changes_over_between_query_and_answer_is_noticed(
    failing: Failing, db_path: str
) -> None:
    with HybridStore(db_path, {"provider": "builtin", "ollama_url": failing.url}) as store:
        store.store("a", "the gpu server")
        model = store.fitting_embedder
        assert model
        embed = model.embed

        def slow(text: str) -> list[float]:
            model.embed = embed  # type: ignore[method-assign]
            with HybridStore(db_path, settings(failing)) as other:
                assert other.embed().fits
            return embed(text)

        model.embed = slow  # type: ignore[method-assign]
        [hit] = store.search("gpu server", explain=True)
        assert hit["source"] == "hybrid"
        assert failing.embedded[-1] == "search_query: gpu server"


def test_while_another_model_of_the_same_name_is_built_keywords_answer(
    failing: Failing, db_path: str, notes: Notes
) -> None:
    folder = notes(TEXTS)
    with HybridStore(db_path, settings(failing)) as store:
        Ingest(store).run([str(folder)])
        failing.digest = "another"
        notes({"new.md": "kettle"})
        failing.requests_left = REQUESTS
        Ingest(store, incremental=True).run([str(folder)])
        assert store.search("gpu")[0]["source"] == "keyword"
        assert any("another model of the same name" in warning for warning in store.warnings)
        failing.requests_left = 10**9
        assert store.embed().fits
        assert store.search("gpu")[0]["source"] != "keyword"


# The model that was chosen


@pytest.fixture
def unchosen(
    db_path: str, notes: Notes, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], HybridStore]:
    """A store that has the built-in model's embeddings only because no model was chosen. Its Ollama is `failing`."""
    from hybrid_memory import config

    monkeypatch.setitem(config.DEFAULTS, "ollama_url", NO_SERVER)
    monkeypatch.setitem(config.DEFAULTS, "dims", DIMS)
    with HybridStore(db_path) as store:
        Ingest(store).run([str(notes(TEXTS))])
        assert store.stats()["embeddings"]["provider"] == "builtin"
    monkeypatch.setitem(config.DEFAULTS, "ollama_url", failing.url)
    return lambda: HybridStore(db_path)


def test_a_store_whose_model_nobody_chose_moves_up_once_there_is_a_better_one(
    unchosen: Callable[[], HybridStore], notes: Notes
) -> None:
    with unchosen() as store:
        report = Ingest(store, incremental=True).run([str(notes({}))])
        assert report.notes == ["all chunks now have embeddings by ollama nomic-embed-text"]
        assert store.stats()["embeddings"]["provider"] == "ollama"


def test_a_refresh_moves_it_up_for_a_few_seconds_at_a_time(
    unchosen: Callable[[], HybridStore], notes: Notes, failing: Failing
) -> None:
    with unchosen() as store:
        notes({"new.md": "kettle"})
        failing.slow = 0.5
        refresh(store, embed_seconds=2.0)
        state = store.stats()["building"]
        assert 0 < state["done"] < state["of"] == COUNT + 1
        assert store.search("kettle", mode="vector")[0]["doc_id"] == "memory/new.md"
    failing.slow = 0.0
    with unchosen() as store:
        refresh(store, embed_seconds=60.0)
        assert store.stats()["embeddings"]["provider"] == "ollama"


def test_the_built_in_model_stays_where_it_was_chosen(
    unchosen: Callable[[], HybridStore], db_path: str, notes: Notes
) -> None:
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        Ingest(store, incremental=True).run([str(notes({"new.md": "kettle"}))])
        assert store.stats()["embeddings"]["provider"] == "builtin"


def test_a_search_asks_no_server_for_a_store_of_the_built_in_model(
    unchosen: Callable[[], HybridStore], failing: Failing
) -> None:
    with unchosen() as store:
        assert store.search("gpu")[0]["source"] == "hybrid"
    assert failing.requests == []
