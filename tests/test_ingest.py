import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore, SourceError
from hybrid_memory.ingest import Ingest, Progress, Report
from tests.conftest import TopicEmbedder

Notes = Callable[[dict[str, str | bytes]], Path]


def ingest(store: HybridStore, *paths: Path, collection: str | None = None, **options: Any) -> Report:
    return Ingest(store, **options).run([str(path) for path in paths], collection)


def ids(store: HybridStore) -> list[str]:
    return [doc_id for (doc_id,) in store.connection.execute("select doc_id from documents order by doc_id")]


def test_ids_are_the_folders_name_and_the_path_below_it(store: HybridStore, notes: Notes) -> None:
    folder = notes({"2026-01-05.md": "gpu server", "people/ann.md": "likes dogs", "image.png": b"\x89PNG"})
    report = ingest(store, folder)
    assert ids(store) == ["memory/2026-01-05.md", "memory/people/ann.md"]
    assert (report.files, report.chunks, report.skipped, report.embedded, report.pending) == (2, 2, 0, 2, 0)
    hit = store.search("gpu")[0]
    assert (hit["path"], hit["collection"], hit["date"]) == (str(folder / "2026-01-05.md"), "memory", "2026-01-05")


def test_result_lines_hold_the_text_in_the_file(store: HybridStore, notes: Notes) -> None:
    text = "---\ntitle: x\n---\n# One\r\n" + "\n".join(f"line {i} of some words\n" for i in range(200))
    folder = notes({"a.md": text})
    ingest(store, folder)
    lines = text.replace("\r\n", "\n").split("\n")
    hits = store.search("line words", limit=100, mode="keyword")
    assert len(hits) > 5
    for hit in hits:
        assert hit["text"] in "\n".join(lines[hit["start_line"] - 1 : hit["end_line"]])


def test_unchanged_files_are_skipped_without_being_read(store: HybridStore, notes: Notes, embedder: TopicEmbedder) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    ingest(store, folder)
    before = store.connection.total_changes
    asked = len(embedder.documents)
    report = ingest(store, folder, incremental=True)
    assert (report.files, report.skipped) == (0, 2)
    assert store.connection.total_changes == before
    assert len(embedder.documents) == asked


def test_a_new_time_on_the_same_content_is_only_noted(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu"})
    ingest(store, folder)
    os.utime(folder / "a.md", (1, 1))
    assert ingest(store, folder, incremental=True).skipped == 1
    before = store.connection.total_changes
    assert ingest(store, folder, incremental=True).skipped == 1
    assert store.connection.total_changes == before


def test_changed_and_new_files_go_in_and_vanished_ones_out(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog", "c.md": "cat"})
    ingest(store, folder)
    notes({"a.md": "gpu and more", "d.md": "new"})
    (folder / "b.md").unlink()
    report = ingest(store, folder, incremental=True)
    assert (report.files, report.skipped, report.removed) == (2, 1, 1)
    assert ids(store) == ["memory/a.md", "memory/c.md", "memory/d.md"]


def test_keep_missing_keeps_documents_whose_files_are_gone(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    ingest(store, folder)
    (folder / "b.md").unlink()
    assert ingest(store, folder, keep_missing=True).removed == 0
    assert len(ids(store)) == 2


def test_only_files_that_the_pattern_would_find_can_vanish(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu", "b.txt": "dog"})
    ingest(store, folder, patterns=["*.md", "*.txt"])
    assert ingest(store, folder, patterns=["*.md"]).removed == 0
    assert len(ids(store)) == 2


def test_folder_that_suddenly_matches_nothing_is_an_error_and_keeps_all(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "gpu"})
    ingest(store, folder)
    (folder / "a.md").unlink()
    report = ingest(store, folder, incremental=True)
    assert "1 documents from here were kept" in report.errors[0]["reason"]
    assert ids(store) == ["memory/a.md"]


def test_first_ingest_that_matches_nothing_is_a_warning(store: HybridStore, notes: Notes) -> None:
    report = ingest(store, notes({"a.txt": "x"}))
    assert report.errors == []
    assert "no file here matches *.md" in report.warnings[0]["reason"]


def test_stored_documents_are_never_removed_or_replaced(store: HybridStore, notes: Notes) -> None:
    store.store("memory/mine.md", "by hand")
    store.store("memory/a.md", "also by hand")
    folder = notes({"a.md": "from a file", "b.md": "x"})
    report = ingest(store, folder)
    assert "put in by `store`" in report.errors[0]["reason"]
    assert ids(store) == ["memory/a.md", "memory/b.md", "memory/mine.md"]
    assert store.search("hand", mode="keyword")[0]["text"].endswith("by hand")


@pytest.mark.parametrize("change", ["rename", "copy", "rewrite"])
def test_moved_copied_and_rewritten_content_is_not_embedded_again(
    store: HybridStore, notes: Notes, embedder: TopicEmbedder, change: str
) -> None:
    folder = notes({"a.md": "# T\n\ngpu server", "b.md": "dog"})
    ingest(store, folder)
    asked = len(embedder.documents)
    if change == "rename":
        (folder / "a.md").rename(folder / "z.md")
    elif change == "copy":
        notes({"z.md": "# T\n\ngpu server"})
    else:
        notes({"a.md": "# T\n\ngpu server"})
    report = ingest(store, folder)
    assert len(embedder.documents) == asked
    assert report.pending == 0


def test_a_new_line_embeds_only_its_own_section_anew(store: HybridStore, notes: Notes, embedder: TopicEmbedder) -> None:
    text = "".join(f"# Part {i}\n\n{f'words {i} ' * 20}\n\n" for i in range(10))
    folder = notes({"a.md": text})
    ingest(store, folder)
    asked = len(embedder.documents)
    notes({"a.md": text.replace("# Part 3\n", "# Part 3\n\nA new line.\n")})
    ingest(store, folder, incremental=True)
    assert len(embedder.documents) == asked + 1


def test_chunks_without_embedding_are_healed_by_an_incremental_ingest(
    store: HybridStore, notes: Notes, embedder: TopicEmbedder
) -> None:
    folder = notes({"a.md": "gpu", "b.md": "dog"})
    embedder.problem = "down"
    assert ingest(store, folder).pending == 2
    embedder.problem = None
    report = ingest(store, folder, incremental=True)
    assert (report.skipped, report.embedded, report.pending) == (2, 2, 0)


def test_other_chunk_settings_make_unchanged_files_due_again(
    db_path: str, store: HybridStore, notes: Notes, embedder: TopicEmbedder
) -> None:
    folder = notes({"a.md": "some words here. " * 40})
    ingest(store, folder)
    with HybridStore(db_path, {"chunk_size": 100}, embedder=embedder) as other:
        assert ingest(other, folder, incremental=True).files == 1
        assert ingest(other, folder, incremental=True).skipped == 1


def test_bad_files_are_named_and_the_rest_goes_in(store: HybridStore, notes: Notes) -> None:
    folder = notes({"bin.md": b"\0\1", "good.md": "gpu", "latin.md": "caf\xe9 dog".encode("latin-1")})
    os.mkfifo(folder / "pipe.md")
    (folder / "dir.md").mkdir()
    report = ingest(store, folder)
    assert [(Path(e["path"]).name, e["reason"]) for e in report.errors] == [("bin.md", "binary: it has NUL bytes")]
    assert [Path(w["path"]).name for w in report.warnings] == ["latin.md"]
    assert "not UTF-8 at byte 3" in report.warnings[0]["reason"]
    assert ids(store) == ["memory/good.md", "memory/latin.md"]


def test_too_large_a_file_is_an_error(db_path: str, notes: Notes, embedder: TopicEmbedder) -> None:
    with HybridStore(db_path, {"max_file_bytes": 10}, embedder=embedder) as store:
        report = ingest(store, notes({"big.md": "x" * 11, "small.md": "gpu"}))
        assert report.errors[0]["reason"] == "11 bytes, over max_file_bytes (10)"
        assert ids(store) == ["memory/small.md"]


def test_hidden_folders_and_node_modules_are_skipped_and_excluded_ones_too(store: HybridStore, notes: Notes) -> None:
    folder = notes({".git/a.md": "x", "node_modules/b.md": "x", "drafts/c.md": "x", "keep/d.md": "x", "e.tmp.md": "x"})
    ingest(store, folder, exclude=["drafts", "*.tmp.md"])
    assert ids(store) == ["memory/keep/d.md"]


def test_links_are_counted_and_not_followed(store: HybridStore, notes: Notes, tmp_path: Path) -> None:
    folder = notes({"a.md": "gpu"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "dir").symlink_to(outside)
    report = ingest(store, folder)
    assert ids(store) == ["memory/a.md"]
    assert report.skipped == 2


def test_followed_links_end_and_give_every_place_once(store: HybridStore, notes: Notes, tmp_path: Path) -> None:
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
    names = [b"sp ace.md", b"new\nline.md", b"\xff.md", b"n" * 252 + b".md", "über 東京.md".encode()]
    for name in names:
        (Path(os.fsdecode(os.fsencode(folder))) / os.fsdecode(name)).write_text("gpu server")
    report = ingest(store, folder)
    assert report.files == len(names)
    assert {os.fsencode(hit["path"]) for hit in store.search("gpu")} == {os.fsencode(folder) + b"/" + name for name in names}
    assert ingest(store, folder, incremental=True).skipped == len(names)


def test_a_single_file_has_its_name_as_id(store: HybridStore, notes: Notes) -> None:
    folder = notes({"TOOLS.md": "gpu"})
    ingest(store, folder / "TOOLS.md")
    assert ids(store) == ["TOOLS.md"]
    assert ingest(store, folder / "TOOLS.md", incremental=True).skipped == 1


def test_second_file_of_the_same_name_is_refused_with_the_way_out(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a/TOOLS.md": "gpu", "b/TOOLS.md": "dog"})
    ingest(store, folder / "a/TOOLS.md")
    report = ingest(store, folder / "b/TOOLS.md")
    assert "--collection NAME" in report.errors[0]["reason"]
    assert store.search("gpu", mode="keyword")
    assert ingest(store, folder / "b/TOOLS.md", collection="b").files == 1
    assert ids(store) == ["TOOLS.md", "b/TOOLS.md"]


def test_second_folder_of_the_same_name_is_refused_before_anything_is_written(store: HybridStore, tmp_path: Path) -> None:
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


@pytest.mark.parametrize("path", ["missing", "fifo"])
def test_path_that_is_no_folder_or_file_is_an_error(store: HybridStore, tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(SourceError, match=f"cannot ingest .*{path}: (No such file|neither)"):
        ingest(store, tmp_path / path)


def test_progress_counts_files_then_embeddings(store: HybridStore, notes: Notes) -> None:
    seen: list[Progress] = []
    ingest(store, notes({"a.md": "gpu", "b.md": "dog"}), progress=seen.append)
    assert [(p.stage, p.done, p.total) for p in seen] == [("files", 1, 2), ("files", 2, 2), ("embeddings", 2, 2)]
