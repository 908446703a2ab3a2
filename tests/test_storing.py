"""Texts that agents store: added to, corrected with their metadata kept, and found to be there already."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.lists import documents
from hybrid_memory.browse.passage import read
from hybrid_memory.indexing import documents as indexing_documents
from hybrid_memory.storage.filters import Filters
from hybrid_memory.sync.ingest import Ingest
from tests.command import Run, answer
from tests.fake_ollama import FakeOllama


def metadata_of(store: HybridStore, doc_id: str) -> object:
    return store.storage.catalog.outline(doc_id)["metadata"]


@pytest.mark.both_engines
def test_appended_text_is_a_paragraph_after_what_is_there(store: HybridStore) -> None:
    assert store.store("log", "# Log\n\nGPU bought.\n", append=True) == 1
    store.store("log", "Dog fed.", append=True)
    assert read(store, "log")["text"] == "# Log\n\nGPU bought.\n\nDog fed."
    assert [hit["doc_id"] for hit in store.search("gpu")] == ["log"]


@pytest.mark.both_engines
def test_a_correction_keeps_the_metadata_unless_it_brings_its_own(store: HybridStore) -> None:
    given = {"owner": "ann", "ports": [80, 443]}
    store.store("a", "---\nstate: draft\n---\nThe gpu.", given)
    store.store("a", "The dog.")
    assert metadata_of(store, "a") == given
    store.store("a", "The cat.", {"year": 2026}, append=True)
    assert metadata_of(store, "a") == given | {"year": 2026}
    store.store("a", "The cat.", {"year": 2027})
    assert metadata_of(store, "a") == {"year": 2027}
    store.store("a", "The cat.", {})
    assert metadata_of(store, "a") == {}


def test_writers_that_append_at_once_lose_nothing(db_path: str) -> None:
    def append(number: int) -> None:
        with HybridStore(db_path, {"provider": "none"}) as store:
            for line in range(5):
                store.store("log", f"Line {number}-{line}.", append=True)

    append(0)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(append, range(1, 5)))
    with HybridStore(db_path) as store:
        lines = [line for line in read(store, "log")["text"].split("\n") if line]
    assert sorted(lines) == [f"Line {number}-{line}." for number in range(5) for line in range(5)]


def test_store_appends(run: Run) -> None:
    run("store", "--doc-id", "log", "--text", "GPU bought.", "--metadata", "owner=ann")
    run("store", "--doc-id", "log", "--text", "Dog fed.", "--append")
    told = answer(run("get", "log", "--json"))
    assert told["text"] == "GPU bought.\n\nDog fed."
    assert answer(run("list", "--where", "owner=ann"))["total"] == 1


def test_append_of_a_file_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("dog")
    done = run("store", "--doc-id", "a", "--file", str(tmp_path / "a.md"), "--append")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--append needs a text" in done.stderr


@pytest.mark.parametrize("source", ["--text", "--file"])
def test_metadata_of_the_command_line_may_be_numbers_and_lists(
    run: Run, tmp_path: Path, source: str
) -> None:
    text = "The dog."
    if source == "--file":
        (tmp_path / "a.md").write_text(text)
        text = str(tmp_path / "a.md")
    pairs = ["year=2026", 'tags=["ops", "ssh"]', "ports=[80, 443]", "version=1.10", "on=true"]
    pairs += ["note=issue #12", "empty=", "separator=|"]
    run("store", "--doc-id", "a", source, text, "--metadata", *pairs)
    [result] = answer(run("search", "dog", "--full", "--json"))
    assert result["metadata"] == {
        "year": 2026,
        "tags": ["ops", "ssh"],
        "ports": [80, 443],
        "version": "1.10",
        "on": True,
        "note": "issue #12",
        "empty": "",
        "separator": "|",
    }
    for where in ("year=2026", "ports=443", "tags=ssh", "version=1.10", "on=true"):
        assert answer(run("list", "--where", where))["total"] == 1
    assert answer(run("list", "--tag", "ops"))["total"] == 1


UNMET = [
    (Filters(collection="memry"), "there is no collection 'memry'; there are memory, decisions"),
    (Filters(inside="memry/*"), "no id is like 'memry/*'; there are memory, decisions"),
    (Filters(tags=["op"]), "no document has the tag 'op'; there are ops"),
    (Filters(where={"ower": "ann"}), "no document has 'ower' in its metadata; there are owner, tags"),
    (Filters(where={"owner": "bob"}), "no document has 'bob' as its 'owner'"),
    (
        Filters(since="2026-03-01", until="2026-01"),
        "since (2026-03-01) is after until (2026-01)",
    ),
    (Filters(collection="memory", tags=["ops"]), "no document matches all of these filters"),
    (Filters(heading="Cats"), "no passage is below the heading 'Cats'"),
    (Filters(role="user"), "no conversation has a passage of the user"),
    (Filters(linked_to="decisions/1"), "no document links to 'decisions/1'"),
    (Filters(since="2999"), "no document has a date of 2999 or later"),
    (Filters(until="1999-01"), "no document has a date of 1999-01 or earlier"),
    (Filters(modified_since="2999"), "no file changed on 2999 or later"),
    (Filters(collection="decisions/old"), None),
    (Filters(collection="memry", within="*"), None),
]  # fmt: skip


@pytest.mark.both_engines
@pytest.mark.parametrize(("filters", "told"), UNMET)
def test_a_filter_that_nothing_can_meet_is_told_with_what_there_is(
    store: HybridStore, notes: Callable[..., Path], filters: Filters, told: str | None
) -> None:
    folder = notes({"dog.md": "The dog.", "cat.md": "The cat."})
    Ingest(store).run([str(folder)])
    store.store("decisions/1", "The gpu.", {"owner": "ann", "tags": ["ops"]})
    store.store("decisions/old/1", "The gpu.")
    warnings = [told] if told else []
    assert documents(store, filters=filters).get("warnings", []) == warnings
    assert store.search("dog", filters=filters) == []
    assert store.warnings == warnings


def test_many_names_are_told_in_part_the_nearest_first(store: HybridStore) -> None:
    for number in range(12):
        store.store(f"project-{number}/a", "The dog.")
    store.search("dog", filters=Filters(collection="project_11"))
    [told] = store.warnings
    assert told.startswith("there is no collection 'project_11'; there are project-11, project-1")
    assert told.endswith(" and 4 more")


def test_the_command_line_tells_an_unknown_collection(run: Run) -> None:
    run("store", "--doc-id", "decisions/1", "--text", "The dog.")
    for command in (("search", "dog"), ("list",)):
        done = run(*command, "--collection", "nope")
        assert done.returncode == 0
        assert "there is no collection 'nope'; there are decisions" in done.stderr
        assert json.loads(done.stdout) in ([], {"total": 0, "documents": []})


def test_a_model_that_never_answers_does_not_keep_a_text_from_being_stored(
    run: Run, ollama: FakeOllama, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environ |= {"HYBRID_MEMORY_PROVIDER": "ollama", "HYBRID_MEMORY_OLLAMA_URL": ollama.url}
    monkeypatch.setattr(indexing_documents, "EMBED_SECONDS", 0.1)
    ollama.cold = 5.0
    done = run("store", "--doc-id", "a", "--text", "the gpu server")
    assert done.returncode == 0
    assert "did not answer within 0.1 s" in done.stderr
    assert answer(run("stats"))["pending_count"] == 1
    ollama.cold = 0.0
    assert answer(run("update"))["embedded"] == 1
