import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore, SourceError
from hybrid_memory.documents import markdown
from hybrid_memory.sync.ingest import Ingest, Progress, Report
from tests.conftest import TopicEmbedder

Notes = Callable[[dict[str, str | bytes]], Path]


def ingest(
    store: HybridStore, *paths: Path, collection: str | None = None, **options: Any
) -> Report:
    return Ingest(store, **options).run([str(path) for path in paths], collection)


def ids(store: HybridStore) -> list[str]:
    return [
        doc_id
        for (doc_id,) in store.storage.connection.execute(
            "select doc_id from documents order by doc_id"
        )
    ]


def test_ids_are_the_folders_name_and_the_path_below_it(store: HybridStore, notes: Notes) -> None:
    folder = notes(
        {"2026-01-05.md": "gpu server", "people/ann.md": "likes dogs", "image.png": b"\x89PNG"}
    )
    report = ingest(store, folder)
    assert ids(store) == ["memory/2026-01-05.md", "memory/people/ann.md"]
    assert (report.files, report.chunks, report.skipped, report.embedded, report.pending) == (
        2,
        2,
        0,
        2,
        0,
    )
    hit = store.search("gpu")[0]
    assert (hit["path"], hit["collection"], hit["date"]) == (
        str(folder / "2026-01-05.md"),
        "memory",
        "2026-01-05",
    )


def test_a_new_time_on_the_same_content_is_only_noted(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu"})
    ingest(store, folder)
    os.utime(folder / "a.md", (1, 1))
    assert ingest(store, folder, incremental=True).skipped == 1
    before = store.storage.connection.total_changes
    assert ingest(store, folder, incremental=True).skipped == 1
    assert store.storage.connection.total_changes == before


def test_changed_and_new_files_go_in_and_vanished_ones_out(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog", "c.md": "cat"})
    ingest(store, folder)
    notes({"a.md": "gpu and more", "d.md": "new"})
    (folder / "b.md").unlink()
    report = ingest(store, folder, incremental=True)
    assert (report.files, report.skipped, report.removed) == (2, 1, 1)
    assert ids(store) == ["memory/a.md", "memory/c.md", "memory/d.md"]


def test_only_files_that_the_pattern_would_find_can_vanish(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu", "b.txt": "dog"})
    ingest(store, folder, patterns=["*.md", "*.txt"])
    assert ingest(store, folder, patterns=["*.md"]).removed == 0
    assert len(ids(store)) == 2


def test_folder_that_suddenly_matches_nothing_is_an_error_and_keeps_all(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu"})
    ingest(store, folder)
    (folder / "a.md").unlink()
    report = ingest(store, folder, incremental=True)
    assert (
        "1 document from here was kept; `hybrid-memory delete --path " in report.errors[0]["reason"]
    )
    assert ids(store) == ["memory/a.md"]


def test_stored_documents_are_never_removed_or_replaced(store: HybridStore, notes: Notes) -> None:
    store.store("memory/mine.md", "by hand")
    store.store("memory/a.md", "also by hand")
    folder = notes({"a.md": "from a file", "b.md": "x"})
    report = ingest(store, folder)
    assert (
        "the document that `store` added; `hybrid-memory delete --doc-id memory/a.md` frees it"
        in report.errors[0]["reason"]
    )
    assert ids(store) == ["memory/a.md", "memory/b.md", "memory/mine.md"]
    assert store.search("hand", mode="keyword")[0]["text"].endswith("by hand")


def test_bad_files_are_named_and_the_rest_goes_in(store: HybridStore, notes: Notes) -> None:
    folder = notes(
        {"bin.md": b"\0\1", "good.md": "gpu", "latin.md": "caf\xe9 dog".encode("latin-1")}
    )
    os.mkfifo(folder / "pipe.md")
    (folder / "dir.md").mkdir()
    report = ingest(store, folder)
    assert [(Path(e["path"]).name, e["reason"]) for e in report.errors] == [
        ("bin.md", "binary: it contains NUL bytes")
    ]
    assert [Path(w["path"]).name for w in report.warnings] == ["latin.md"]
    assert "not UTF-8 at byte 3" in report.warnings[0]["reason"]
    counts = report.as_dict()
    assert (counts["errors_by"], counts["warnings_by"]) == ({"encoding": 1}, {"encoding": 1})
    assert ids(store) == ["memory/good.md", "memory/latin.md"]


def test_hidden_folders_and_node_modules_are_skipped_and_excluded_ones_too(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes(
        {
            ".git/a.md": "x",
            "node_modules/b.md": "x",
            "drafts/c.md": "x",
            "keep/d.md": "x",
            "e.tmp.md": "x",
        }
    )
    report = ingest(store, folder, exclude=["drafts", "*.tmp.md"])
    assert ids(store) == ["memory/keep/d.md"]
    assert (report.skipped, report.skipped_by) == (
        0,
        {"hidden": 1, "node_modules": 1, "excluded": 2},
    )
    assert report.left_out() == [
        "left out by rule: 1 hidden, 2 excluded, 1 node_modules; `hybrid-memory doctor` lists them"
    ]


def test_the_folders_that_a_vault_has_for_templates_are_left_out_unless_they_are_named(
    store: HybridStore, notes: Notes
) -> None:
    plugin = ".obsidian/plugins/templater-obsidian/data.json"
    folder = notes(
        {
            "Vorlagen/day.md": "a template",
            "sub/Templates/project.md": "a template",
            "sub/Vorlagen/not.md": "x",
            "keep.md": "x",
            ".obsidian/templates.json": '{"folder": "Vorlagen/"}',
            plugin: '{"templates_folder": "sub/Templates"}',
        }
    )
    report = ingest(store, folder)
    assert ids(store) == ["memory/keep.md", "memory/sub/Vorlagen/not.md"]
    assert report.left_out() == [
        "left out by rule: 1 hidden, 2 templates; `hybrid-memory doctor` lists them"
    ]
    ingest(store, folder / "Vorlagen")
    assert "Vorlagen/day.md" in ids(store)
    (folder / ".obsidian/templates.json").write_text('{"folder": null}')
    (folder / plugin).write_text('{"templates_folder": "/"}')
    ingest(store, folder)
    assert "memory/sub/Templates/project.md" in ids(store)


def test_what_one_of_two_listings_of_a_folder_takes_is_not_left_out_by_the_other(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu", "s.jsonl": "", "c.txt": "x", ".git/x": "x"})
    report = ingest(store, folder, patterns=["*.md", "*.jsonl"])
    assert (report.files, report.skipped_by) == (2, {"pattern": 1, "hidden": 1})
    again = ingest(store, folder, patterns=["*.md", "*.jsonl"], incremental=True)
    assert (again.skipped, again.skipped_by) == (2, {"unchanged": 2, "pattern": 1, "hidden": 1})


def test_copy_of_a_file_that_has_its_id_is_not_unchanged(
    store: HybridStore, notes: Notes, tmp_path: Path
) -> None:
    folder = notes({"a.md": "gpu"})
    copy = Path(shutil.copy2(folder / "a.md", tmp_path))
    ingest(store, copy, collection="memory")
    report = ingest(store, folder, incremental=True)
    assert report.skipped == 0
    assert [error["kind"] for error in report.errors] == ["id taken"]


def test_links_are_counted_and_not_followed(
    store: HybridStore, notes: Notes, tmp_path: Path
) -> None:
    folder = notes({"a.md": "gpu"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "dir").symlink_to(outside)
    report = ingest(store, folder)
    assert ids(store) == ["memory/a.md"]
    assert (report.skipped, report.skipped_by) == (2, {"symbolic link": 2})


def test_followed_links_end_and_give_every_place_once(
    store: HybridStore, notes: Notes, tmp_path: Path
) -> None:
    folder = notes({"a.md": "gpu"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.md").write_text("dog")
    (folder / "loop").symlink_to(folder)
    (folder / "one").symlink_to(outside)
    (folder / "two").symlink_to(outside)
    (folder / "dangling.md").symlink_to(tmp_path / "nowhere.md")
    report = ingest(store, folder, follow_symlinks=True)
    assert ids(store) == ["memory/a.md", "memory/one/b.md"]
    assert report.errors == []


def test_strange_names_go_in_and_come_back(store: HybridStore, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    names = [
        b"sp ace.md",
        b"new\nline.md",
        b"\xff.md",
        b"n" * 252 + b".md",
        "über 東京.md".encode(),
    ]
    for name in names:
        (Path(os.fsdecode(os.fsencode(folder))) / os.fsdecode(name)).write_text(
            f"gpu server {len(name)}"
        )
    report = ingest(store, folder)
    assert report.files == len(names)
    assert {os.fsencode(hit["path"]) for hit in store.search("gpu")} == {
        os.fsencode(folder) + b"/" + name for name in names
    }
    assert ingest(store, folder, incremental=True).skipped == len(names)


def test_a_single_file_has_its_name_as_id(store: HybridStore, notes: Notes) -> None:
    folder = notes({"TOOLS.md": "gpu"})
    ingest(store, folder / "TOOLS.md")
    assert ids(store) == ["TOOLS.md"]
    assert ingest(store, folder / "TOOLS.md", incremental=True).skipped == 1


def test_second_file_of_the_same_name_is_refused_with_the_way_out(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a/TOOLS.md": "gpu", "b/TOOLS.md": "dog"})
    ingest(store, folder / "a/TOOLS.md")
    report = ingest(store, folder / "b/TOOLS.md")
    assert "--collection NAME" in report.errors[0]["reason"]
    assert store.search("gpu", mode="keyword")
    assert ingest(store, folder / "b/TOOLS.md", collection="b").files == 1
    assert ids(store) == ["TOOLS.md", "b/TOOLS.md"]


def test_second_folder_of_the_same_name_is_refused_before_anything_is_written(
    store: HybridStore, tmp_path: Path
) -> None:
    for parent, text in (("x", "gpu"), ("y", "dog")):
        (tmp_path / parent / "memory").mkdir(parents=True)
        (tmp_path / parent / "memory/a.md").write_text(text)
    ingest(store, tmp_path / "x/memory")
    with pytest.raises(SourceError, match="--collection NAME"):
        ingest(store, tmp_path / "y/memory")
    assert store.search("gpu", mode="keyword")[0]["path"] == str(tmp_path / "x/memory/a.md")
    assert ingest(store, tmp_path / "y/memory", collection="other").files == 1
    with pytest.raises(SourceError, match="the same document ids"):
        ingest(store, tmp_path / "x", tmp_path / "x/memory", collection="both")


def test_path_that_is_no_folder_or_file_is_an_error(store: HybridStore, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot ingest .*missing: No such file"):
        ingest(store, tmp_path / "missing")
    with pytest.raises(SourceError, match="empty"):
        Ingest(store).run([""])


def test_a_pipe_is_refused(store, tmp_path):  # bash gives one for <(command)
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(SourceError, match="neither a folder nor a regular file"):
        Ingest(store).run([str(tmp_path / "pipe.md")])
    assert not store.storage.sources.all()


def test_progress_counts_files_then_embeddings(store: HybridStore, notes: Notes) -> None:
    seen: list[Progress] = []
    ingest(store, notes({"a.md": "gpu", "b.md": "dog"}), progress=seen.append)
    assert [(p.stage, p.done, p.total) for p in seen] == [
        ("files", 1, 2), ("files", 2, 2), ("embeddings", 0, 2), ("embeddings", 2, 2),
    ]  # fmt: skip
    assert seen[1].chunks == 2  # what a terminal is left with


# Mirroring


def test_nothing_changed_reads_no_file_writes_nothing_and_asks_no_embedder(
    store: HybridStore, notes: Notes, embedder: TopicEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "gpu", "sub/b.md": "dog"})
    ingest(store, folder)
    asked = len(embedder.documents)
    monkeypatch.setattr(os, "open", lambda *args: pytest.fail(f"opened {args}"))
    statements: list[str] = []
    store.storage.connection.set_trace_callback(statements.append)
    report = ingest(store, folder, incremental=True)
    store.storage.connection.set_trace_callback(None)
    assert (report.files, report.skipped, len(embedder.documents)) == (0, 2, asked)
    assert statements
    assert [
        statement
        for statement in statements
        if not statement.lstrip().lower().startswith(("select", "pragma"))
    ] == []


@pytest.mark.parametrize("same", ["time", "size"])
def test_other_size_or_other_time_alone_is_a_change(
    store: HybridStore, notes: Notes, same: str
) -> None:
    folder = notes({"a.md": "gpu"})
    os.utime(folder / "a.md", (5, 5))
    ingest(store, folder)
    notes({"a.md": "a longer text" if same == "time" else "dog"})
    os.utime(folder / "a.md", (5, 5) if same == "time" else (6, 6))
    assert ingest(store, folder, incremental=True).files == 1
    assert ingest(store, folder, incremental=True).skipped == 1


def test_change_in_the_same_tick_of_the_clock_is_not_missed(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = notes({"a.md": "gpu"}) / "a.md"
    now = time.time()
    os.utime(path, (now, now))

    def tick(seconds: float) -> None:
        assert seconds < 1
        path.write_text("dog")
        os.utime(path, (now, now))

    monkeypatch.setattr(time, "sleep", tick)
    monkeypatch.setattr(time, "time", lambda: now)
    ingest(store, path.parent)
    assert store.search("dog", mode="keyword")


def test_folder_that_cannot_be_read_loses_no_documents(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes(
        {"a.md": "gpu", "closed/b.md": "dog", "closed/deep/c.md": "cat", "closedtoo.md": "x"}
    )
    ingest(store, folder)
    (folder / "closedtoo.md").unlink()
    scandir = os.scandir

    def guarded(path: str) -> Any:  # root may list everything
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    report = ingest(store, folder, incremental=True)
    assert report.errors == [
        {"path": str(folder / "closed"), "reason": "Permission denied", "kind": "unreadable"}
    ]
    assert report.removed == 1
    assert ids(store) == ["memory/a.md", "memory/closed/b.md", "memory/closed/deep/c.md"]
    (folder / "a.md").unlink()
    assert len(ingest(store, folder, incremental=True).errors) == 2
    assert len(ids(store)) == 3


def test_a_folder_that_cannot_be_listed_at_all_is_not_said_to_be_empty(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "gpu"})
    ingest(store, folder)

    def refused(path: str) -> Any:  # root may list everything
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refused)
    report = ingest(store, folder, incremental=True)
    assert report.errors == [
        {"path": str(folder), "reason": "Permission denied", "kind": "unreadable"}
    ]
    assert ids(store) == ["memory/a.md"]


def test_excluding_files_takes_their_documents_out(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu", "secret/b.md": "dog"})
    ingest(store, folder)
    assert ingest(store, folder, exclude=["secret"], incremental=True).removed == 1
    assert ids(store) == ["memory/a.md"]


def test_one_folder_does_not_remove_what_another_has(
    store: HybridStore, tmp_path: Path, notes: Notes
) -> None:
    folder = notes({"a.md": "gpu"})
    other = tmp_path / "memory2"  # begins with the other's path
    other.mkdir()
    (other / "b.md").write_text("dog")
    (tmp_path / "memory.md").write_text("cat")
    ingest(store, other, collection="memory2")
    ingest(store, tmp_path / "memory.md", collection="memory")
    ingest(store, folder)
    notes({"new.md": "x"})
    assert ingest(store, folder, incremental=True).removed == 0
    assert ids(store) == ["memory/a.md", "memory/memory.md", "memory/new.md", "memory2/b.md"]


def test_document_stored_meanwhile_is_not_replaced(
    store: HybridStore, notes: Notes, db_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "from a file"})
    job = Ingest(store)
    read = markdown.read

    def slow(*args: Any) -> Any:
        with HybridStore(db_path, embedder=TopicEmbedder()) as other:
            other.store("memory/a.md", "by hand")
        return read(*args)

    monkeypatch.setattr(markdown, "read", slow)
    report = job.run([str(folder)])
    assert "that `store` added" in report.errors[0]["reason"]
    assert report.files == 0
    assert store.search("hand", mode="keyword")[0]["text"] == "by hand"


# Reuse of embeddings


def test_content_that_moves_between_names_and_folders_is_not_embedded_again(
    store: HybridStore, notes: Notes, embedder: TopicEmbedder, tmp_path: Path
) -> None:
    folder = notes({"log.0.md": "gpu", "log.1.md": "dog", "log.2.md": "password", "x/a.md": "cat"})
    other = tmp_path / "other"
    other.mkdir()
    (other / "o.md").write_text("host")
    ingest(store, folder, other)
    asked = len(embedder.documents)
    for i in (2, 1, 0):
        (folder / f"log.{i}.md").rename(folder / f"log.{i + 1}.md")
    (folder / "x/a.md").rename(other / "moved.md")
    notes({"log.0.md": "gpu dog", "copy.md": "host"})
    report = ingest(store, folder, other, incremental=True)
    assert embedder.documents[asked:] == ["gpu dog"]
    assert (report.embedded, report.pending) == (1, 0)
    assert store.storage.checks.vectors(thorough=True) == []
    assert [hit["doc_id"] for hit in store.search("puppy", mode="vector", limit=1)] == [
        "memory/log.2.md"
    ]


# Files that change under us


def test_file_that_becomes_a_link_is_an_error_and_its_document_stays(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "gpu"})
    ingest(store, folder)
    path = folder / "a.md"
    read = markdown.read

    def replaced(name: str, *args: Any) -> Any:
        path.unlink()
        path.symlink_to("/etc/passwd")
        return read(name, *args)

    monkeypatch.setattr(markdown, "read", replaced)
    report = ingest(store, folder)
    assert [error["path"] for error in report.errors] == [str(path)]
    assert ids(store) == ["memory/a.md"]


def test_file_that_vanishes_before_it_is_read_is_a_warning(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    read = markdown.read

    def vanished(name: str, *args: Any) -> Any:
        if name.endswith("a.md"):
            (folder / "a.md").unlink()
        return read(name, *args)

    monkeypatch.setattr(markdown, "read", vanished)
    report = ingest(store, folder)
    assert report.errors == []
    assert report.warnings == [
        {"path": str(folder / "a.md"), "reason": "vanished before it was read", "kind": "vanished"}
    ]
    assert ids(store) == ["memory/b.md"]


def test_unreadable_file_is_an_error_and_its_document_stays(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    ingest(store, folder)
    notes({"a.md": "changed", "b.md": "changed, too"})
    opened = os.open

    def guarded(path: str, *args: Any) -> int:  # root may read everything
        if path.endswith("a.md"):
            raise PermissionError(13, "Permission denied")
        return opened(path, *args)

    monkeypatch.setattr(os, "open", guarded)
    report = ingest(store, folder, incremental=True)
    assert report.errors == [
        {"path": str(folder / "a.md"), "reason": "Permission denied", "kind": "unreadable"}
    ]
    assert (report.files, report.removed) == (1, 0)
    assert ids(store) == ["memory/a.md", "memory/b.md"]


# A sequence of anything ends as a fresh ingest does

NAMES = st.sampled_from(["a.md", "b.md", "sub/c.md", ".hidden/d.md"])
TEXTS = st.sampled_from(
    [
        "",
        "gpu",
        "dog",
        "# One\n\ngpu\n\n# Two\n\ndog\n",
        "# Two\n\ndog\n\n# One\n\ngpu\n",
        "word " * 300,
    ]
)
CHANGES = st.one_of(
    st.tuples(st.just("write"), NAMES, TEXTS),
    st.tuples(st.just("remove"), NAMES),
    st.tuples(st.just("move"), NAMES, NAMES),
    st.tuples(st.just("touch"), NAMES, st.integers(1, 5)),
    st.tuples(st.just("down"), st.booleans()),
)
STEPS = st.tuples(
    CHANGES, st.sampled_from([None, True, False])
)  # a change, and whether an ingest after it is incremental
CONTENTS = """
select d.doc_id, d.source_path, d.file_mtime, d.file_size, d.content_hash, d.chunk_count, c.chunk_id, c.heading_path, c.content,
       c.start_line, c.embedding, c.indexed
from   documents d left join chunks c using (doc_id)
order  by d.doc_id, c.id
"""


def make(change: tuple[Any, ...], folder: Path, embedder: TopicEmbedder) -> None:
    kind, *values = change
    path = folder / str(values[0])
    if kind == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(values[1])
    elif kind == "move" and path.exists():
        (folder / values[1]).parent.mkdir(parents=True, exist_ok=True)
        path.replace(folder / values[1])
    elif kind == "remove":
        path.unlink(missing_ok=True)
    elif kind == "touch" and path.exists():
        os.utime(path, (values[1], values[1]))
    elif kind == "down":
        embedder.problem = "down" if values[0] else None


@settings(max_examples=25, deadline=None)
@given(st.lists(STEPS, min_size=2, max_size=12))
def test_any_sequence_of_changes_and_ingests_ends_as_a_fresh_ingest(
    steps: list[tuple[Any, ...]],
) -> None:
    embedder = TopicEmbedder()
    with tempfile.TemporaryDirectory() as top, HybridStore(":memory:", embedder=embedder) as store:
        folder = Path(top) / "memory"
        folder.mkdir()
        (folder / "always.md").write_text(
            "there"
        )  # a folder that suddenly matches nothing is another matter
        for change, incremental in steps:
            make(change, folder, embedder)
            if incremental is not None:
                ingest(store, folder, incremental=incremental)
        embedder.problem = None
        report = ingest(store, folder, incremental=True)
        assert (report.errors, report.pending) == ([], 0)
        with HybridStore(":memory:", embedder=TopicEmbedder()) as fresh:
            ingest(fresh, folder)
            assert (
                store.storage.connection.execute(CONTENTS).fetchall()
                == fresh.storage.connection.execute(CONTENTS).fetchall()
            )
        assert store.storage.checks.vectors(thorough=True) == []
        assert ingest(store, folder, incremental=True).files == 0
