"""Files that cannot be read: asked again only when that may have changed, and never waited for."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras import doctor
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.command import Run, answer
from tests.fake_ollama import FakeOllama
from tests.sync.test_ingest import ids

Notes = Callable[[dict[str, str | bytes]], Path]
REPORT = Path(__file__).parent.parent / "extras/files/report.docx"
PATTERNS = ["*.md", "*.docx"]
DAMAGED = b"PK\x03\x04 half a file"


@pytest.fixture
def extractions(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows by one with each process that is started to extract a text."""
    started: list[Any] = []
    run = subprocess.run

    def counted(*args: Any, **options: Any) -> Any:
        started.append(args)
        return run(*args, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    return started


def test_a_refused_file_is_read_again_only_when_it_changes(
    store: HybridStore, notes: Notes, extractions: list[Any]
) -> None:
    folder = notes({"a.md": "gpu", "bad.docx": DAMAGED})
    [first] = Ingest(store, patterns=PATTERNS).run([str(folder)]).errors
    assert len(extractions) == 1
    assert refresh(store).warnings == [first]
    assert Ingest(store, incremental=True).update().errors == [first]
    assert len(extractions) == 1
    shutil.copy(REPORT, folder / "bad.docx")
    assert refresh(store, extract_seconds=60.0).files == 1
    assert len(extractions) == 2
    assert store.storage.sources.refusals() == {}


def test_a_raised_limit_lets_a_refused_file_in(db_path: str, notes: Notes) -> None:
    folder = notes({"long.md": "gpu " * 100})
    with HybridStore(db_path, {"provider": "none", "max_file_bytes": 100}) as store:
        assert Ingest(store).run([str(folder)]).errors[0]["kind"] == "size"
        assert refresh(store).files == 0
    with HybridStore(db_path, {"provider": "none", "max_file_bytes": 1000}) as store:
        assert refresh(store).files == 1


def test_a_refused_file_that_is_gone_is_forgotten(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu", "bad.docx": DAMAGED})
    Ingest(store, patterns=PATTERNS).run([str(folder)])
    assert list(store.storage.sources.refusals()) == [str(folder / "bad.docx")]
    os.remove(folder / "bad.docx")
    assert refresh(store).warnings == []
    assert store.storage.sources.refusals() == {}


def test_a_slow_file_is_left_to_an_update_and_the_others_go_in(
    store: HybridStore, notes: Notes, extractions: list[Any]
) -> None:
    folder = notes({"a.md": "gpu"})
    Ingest(store, patterns=PATTERNS).run([str(folder)])
    shutil.copy(REPORT, folder / "report.docx")
    notes({"new.md": "dog"})
    report = refresh(store, extract_seconds=0.001)
    assert report.files == 1
    [warning] = report.warnings
    assert warning["kind"] == "late"
    assert "`hybrid-memory update` reads it" in warning["reason"]
    assert refresh(store, extract_seconds=0.001).warnings == [warning]
    assert len(extractions) == 1
    assert Ingest(store, incremental=True).update().files == 1
    assert "memory/report.docx" in ids(store)


def test_a_slow_file_is_a_line_of_doctor_and_not_waited_for(
    store: HybridStore, notes: Notes, extractions: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "gpu"})
    Ingest(store, patterns=PATTERNS).run([str(folder)])
    for name in ("first.docx", "second.docx"):
        shutil.copy(REPORT, folder / name)
    monkeypatch.setattr(doctor, "EXTRACT_SECONDS", 0.001)
    [line] = [finding for finding in doctor.examine(store) if finding.check == "sources"]
    assert "2 notes of" in line.text
    assert "are not in the memory yet: first.docx, second.docx" in line.text
    assert len(extractions) == 1


def test_files_that_an_earlier_one_left_no_time_for_have_their_turn_next(
    store: HybridStore, notes: Notes, extractions: list[Any]
) -> None:
    folder = notes({"a.md": "gpu"})
    Ingest(store, patterns=PATTERNS).run([str(folder)])
    for name in ("first.docx", "second.docx"):
        shutil.copy(REPORT, folder / name)
    assert len(refresh(store, extract_seconds=0.001).warnings) == 2
    assert list(store.storage.sources.refusals()) == [str(folder / "first.docx")]
    assert len(extractions) == 1


def test_a_file_whose_ingest_failed_leaves_no_source(run: Run, tmp_path: Path) -> None:
    for name in ("b", "c"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.md").write_text(f"gpu {name}")
    none = ("--provider", "none")
    answer(run("ingest", "--path", str(tmp_path / "b/x.md"), *none))
    assert run("ingest", "--path", str(tmp_path / "c/x.md"), *none).returncode == 1
    update = run("update", "--quiet", *none)
    assert (update.returncode, update.stderr) == (0, "")


def test_a_source_without_a_document_can_be_deleted_by_its_path(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x.md").write_text("gpu")
    with HybridStore(tmp_path / "cli.db") as store:
        Ingest(store).run([str(tmp_path / "x.md")])
        with store.storage.transaction():
            store.storage.documents.remove("x.md")
    assert run("delete", "--path", str(tmp_path / "x.md")).stderr == ""
    with HybridStore(tmp_path / "cli.db") as store:
        assert store.storage.sources.all() == []


def test_update_says_once_that_the_server_is_down_and_keywords_answer(
    run: Run, folder: Path
) -> None:
    with FakeOllama() as ollama:
        url = ("--ollama-url", ollama.url)
        answer(run("ingest", "--path", str(folder), "--provider", "ollama", *url))
        embedded = len(ollama.embed_requests)
        assert run("update", "--quiet", *url).stderr == ""
        assert len(ollama.embed_requests) == embedded  # a model that is not needed is not loaded
        ollama.models.clear()
        gone = run("update", *url)
    assert gone.returncode == 0
    assert gone.stderr.count("has no model nomic-embed-text") == 1
    down = run("update", *url)
    assert down.returncode == 0
    [line] = down.stderr.splitlines()
    assert "cannot connect to Ollama" in line
    assert line.endswith("meanwhile, searches answer by keyword")


@pytest.mark.parametrize("option", [(), ("--refresh",)])
def test_a_search_says_once_that_the_server_is_down_and_keywords_answer(
    run: Run, folder: Path, option: tuple[str, ...]
) -> None:
    with FakeOllama() as ollama:
        url = ("--ollama-url", ollama.url)
        answer(run("ingest", "--path", str(folder), "--provider", "ollama", *url))
    assert run("store", "--doc-id", "later", "--text", "a kettle", *url).returncode == 0
    search = run("search", "kettle", *option, *url)
    assert [hit["doc_id"] for hit in answer(search)] == ["later"]
    [line] = search.stderr.splitlines()
    assert "cannot connect to Ollama" in line
    assert line.endswith("meanwhile, searches answer by keyword")


def test_a_search_that_refreshed_does_not_advise_it(run: Run, folder: Path) -> None:
    answer(run("ingest", "--path", str(folder), "--provider", "none"))
    assert "`--refresh` reads" in run("search", "xyzzy", "--provider", "none").stderr
    assert "--refresh" not in run("search", "xyzzy", "--refresh", "--provider", "none").stderr


def test_a_refresh_embeds_what_is_pending_though_no_file_changed(run: Run, folder: Path) -> None:
    with FakeOllama() as ollama:
        url = ("--ollama-url", ollama.url)
        answer(run("ingest", "--path", str(folder), "--provider", "ollama", *url))
        assert run("store", "--doc-id", "later", "--text", "a kettle").returncode == 0
        assert answer(run("stats", *url))["pending_count"] == 1
        answer(run("search", "kettle", "--refresh", *url))
        assert answer(run("stats", *url))["pending_count"] == 0


def test_a_refresh_moves_up_to_ollama_though_no_file_changed(run: Run, folder: Path) -> None:
    answer(run("ingest", "--path", str(folder)))
    with FakeOllama() as ollama:
        answer(run("search", "gpu", "--refresh", "--ollama-url", ollama.url))
        identity = answer(run("stats", "--ollama-url", ollama.url))["embeddings"]
    assert identity["provider"] == "ollama"


def test_an_ingest_with_another_chunk_size_counts_what_it_embedded(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "\n\n".join(f"The gpu server number {n}." for n in range(60))})
    Ingest(store).run([str(folder)])
    report = Ingest(store, sizes=(200, 0)).run([str(folder)])
    assert report.embedded == report.chunks > 1
