"""Files that several sources reach: each is one document, and stays the document that it is."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore, SourceError
from hybrid_memory.indexing.documents import delete_collection
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.command import Run, answer
from tests.sync.test_ingest import ids, ingest

Notes = Callable[[dict[str, str | bytes]], Path]


def told(report: Any) -> list[str]:
    assert report.errors == []
    return [f"{warning['path']}: {warning['reason']}" for warning in report.warnings]


@pytest.fixture
def outer(notes: Notes) -> Path:
    """Two notes in a folder `daily` of the folder `memory`, and one beside it."""
    return notes({"a.md": "gpu", "daily/1.md": "dog", "daily/2.md": "cat"})


BOTH = ["daily/1.md", "daily/2.md", "memory/a.md"]


@pytest.mark.parametrize("inner_first", [True, False])
def test_a_file_belongs_to_the_deepest_folder(
    store: HybridStore, outer: Path, inner_first: bool
) -> None:
    inner = outer / "daily"
    first, second = (inner, outer) if inner_first else (outer, inner)
    assert told(ingest(store, first)) == []
    assert told(ingest(store, second)) == []
    assert ids(store) == BOTH
    for paths in ([first], [second], [first, second], [second, first]):
        for incremental in (True, False):
            assert told(ingest(store, *paths, incremental=incremental)) == []
            assert ids(store) == BOTH
    assert told(Ingest(store, incremental=True).update()) == []
    assert told(refresh(store)) == []
    assert ids(store) == BOTH


def test_a_file_moves_to_a_deeper_folder_with_its_embeddings(
    store: HybridStore, outer: Path, embedder: Any
) -> None:
    ingest(store, outer)
    asked = len(embedder.documents)
    report = ingest(store, outer / "daily")
    assert (report.files, len(embedder.documents)) == (2, asked)
    assert ids(store) == BOTH


def test_what_the_deeper_folder_excludes_belongs_to_the_other(
    store: HybridStore, outer: Path
) -> None:
    ingest(store, outer / "daily", exclude=["1.md"])
    ingest(store, outer)
    expected = ["daily/2.md", "memory/a.md", "memory/daily/1.md"]
    assert ids(store) == expected
    assert Ingest(store, incremental=True).update().files == 0
    assert ids(store) == expected
    ingest(store, outer / "daily")  # not excluded any more
    assert ids(store) == BOTH


def test_when_the_deeper_folder_is_deleted_the_other_takes_its_files(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "memory/daily").mkdir(parents=True)
    (tmp_path / "memory/daily/1.md").write_text("dog")
    (tmp_path / "memory/a.md").write_text("gpu")
    for path in ("memory/daily", "memory"):
        answer(run("ingest", "--path", path, "--provider", "none"))
    done = run("delete", "--collection", "daily")
    assert "next ingest of its folder adds it again" in done.stderr
    answer(run("update", "--provider", "none"))
    listed = answer(run("list"))["documents"]
    assert sorted(document["doc_id"] for document in listed) == ["memory/a.md", "memory/daily/1.md"]


def test_a_link_to_another_source_adds_no_second_copy(
    store: HybridStore, outer: Path, tmp_path: Path
) -> None:
    linking = tmp_path / "linking"
    linking.mkdir()
    (linking / "own.md").write_text("kettle")
    (linking / "all").symlink_to(outer)
    (linking / "one.md").symlink_to(outer / "a.md")
    ingest(store, linking, follow_symlinks=True)
    ingest(store, outer)
    refresh(store)
    expected = ["linking/own.md", "memory/a.md", "memory/daily/1.md", "memory/daily/2.md"]
    assert ids(store) == expected
    (outer / "new.md").write_text("stapler")
    refresh(store)
    refresh(store)
    assert ids(store) == sorted([*expected, "memory/new.md"])


def test_a_single_file_is_deeper_than_the_folder_around_it(store: HybridStore, outer: Path) -> None:
    ingest(store, outer / "a.md")
    assert told(ingest(store, outer)) == []
    assert ids(store) == ["a.md", "memory/daily/1.md", "memory/daily/2.md"]
    assert told(ingest(store, outer / "daily/1.md")) == []
    expected = ["1.md", "a.md", "memory/daily/2.md"]
    assert ids(store) == expected
    (outer / "a.md").write_text("changed")
    assert refresh(store).files == 1
    assert ids(store) == expected


def test_a_stored_file_below_an_ingested_folder_is_no_second_copy_and_is_never_removed(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "talks/sub").mkdir(parents=True)
    said = '{"type": "user", "message": {"content": "the kettle"}}\n'
    for name in ("talks/sub/x.jsonl", "talks/y.jsonl"):
        (tmp_path / name).write_text(said)
    (tmp_path / "talks/z.md").write_text("gpu")
    none = ("--provider", "none")
    patterns = ("--path", "talks", "--pattern", "*.jsonl", "--pattern", "*.md", *none)
    answer(run("store", "--doc-id", "mine", "--file", "talks/sub/x.jsonl", *none))
    of_file = ("--doc-id", "talks/z.md", "--file", "talks/z.md", "--metadata", "a=b")
    answer(run("store", *of_file, *none))
    expected = ["mine", "sessions/y.jsonl", "talks/z.md"]
    for command in (("ingest", *patterns), ("update", "--provider", "none"), ("ingest", *patterns)):
        done = run(*command)
        assert answer(done)["removed"] == 0
        assert (
            sorted(document["doc_id"] for document in answer(run("list"))["documents"]) == expected
        )
    assert answer(run("search", "gpu", "--full", "--provider", "none"))[0]["metadata"] == {"a": "b"}


def test_a_folder_whose_last_own_file_went_is_no_lost_disk(store: HybridStore, outer: Path) -> None:
    ingest(store, outer / "daily")
    ingest(store, outer)
    (outer / "a.md").unlink()
    report = ingest(store, outer)
    assert (report.errors, report.removed, ids(store)) == ([], 1, ["daily/1.md", "daily/2.md"])


def test_sources_that_cannot_meet_cost_no_look_at_the_documents(
    store: HybridStore, outer: Path, tmp_path: Path
) -> None:
    (tmp_path / "memory2").mkdir()
    (tmp_path / "memory2/a.md").write_text("dog")
    ingest(store, outer, tmp_path / "memory2")
    statements: list[str] = []
    store.storage.connection.set_trace_callback(statements.append)
    refresh(store)
    store.storage.connection.set_trace_callback(None)
    assert not [one for one in statements if "left join folders" in one]
    assert len(statements) < 22


NAMES = ("a.md", "daily/1.md", "daily/deep/2.md")
ACTS = st.one_of(
    st.tuples(
        st.just("ingest"),
        st.lists(
            st.sampled_from(("", "daily", "daily/deep", "linking", "a.md")), min_size=1, max_size=3
        ),
    ),
    st.tuples(st.just("without"), st.sampled_from(("", "daily", "daily/deep"))),
    st.tuples(st.just("write"), st.sampled_from(NAMES)),
    st.tuples(st.just("unlink"), st.sampled_from(NAMES)),
    st.tuples(st.just("forget"), st.sampled_from(("memory", "daily", "deep", "linking"))),
)


@settings(max_examples=25, deadline=None)
@example([("unlink", "daily/deep/2.md"), ("ingest", ["daily", "linking"]), ("without", "daily")])
@given(st.lists(ACTS, max_size=8))
def test_whatever_is_ingested_a_file_is_one_document_and_a_second_run_changes_nothing(
    acts: list[tuple[str, Any]],
) -> None:
    with TemporaryDirectory() as top, HybridStore(":memory:", {"provider": "none"}) as store:
        memory = Path(top).resolve() / "memory"
        (memory / "daily/deep").mkdir(parents=True)
        (memory.parent / "linking").mkdir()
        (memory.parent / "linking/to").symlink_to(memory)
        for name in NAMES:
            (memory / name).write_text(name)
        for act, value in acts:
            if act == "write":
                (memory / value).write_text(f"{value} again")
            elif act == "unlink":
                (memory / value).unlink(missing_ok=True)
            elif act == "forget":
                delete_collection(store.storage, value)
            elif act == "without":
                ingest(store, memory / value, exclude=["1.md"], incremental=True)
            else:
                paths = [
                    memory.parent / name if name == "linking" else memory / name for name in value
                ]
                with suppress(SourceError):  # a.md may be gone
                    ingest(store, *paths, follow_symlinks="linking" in value, incremental=True)
            for _ in range(2):
                refresh(store)
                rows = store.storage.catalog.source_files()
                assert len({os.path.realpath(row.path) for row in rows}) == len(rows)
            before = ids(store)
            refresh(store)
            assert ids(store) == before
