"""A file that a user names passes the checks of one that is found in a folder; only its name is a choice."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory import HybridStore, SourceError
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh, store_file

SECRET = "The secret word is walnut."


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(path.parent / target)


REFUSED: dict[str, Callable[[Path], object]] = {
    "link out": link_to("../outside/secret.md"),
    "link to nothing": link_to("nowhere.md"),
    "binary": lambda path: path.write_bytes(b"walnut\0"),
    "too large": lambda path: path.write_text("walnut " * 100),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text(SECRET)
    (tmp_path / "outside/link.md").symlink_to("secret.md")
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


@pytest.fixture
def store(tmp_path: Path) -> HybridStore:
    return HybridStore(tmp_path / "memory.db", {"provider": "none", "max_file_bytes": 500})


def count(store: HybridStore) -> int:
    return int(store.stats()["doc_count"])


@pytest.mark.parametrize("kind", REFUSED)
def test_what_a_folder_leaves_out_is_refused_by_its_name(
    store: HybridStore, folder: Path, kind: str
) -> None:
    path = folder / "x.md"
    REFUSED[kind](path)
    with store:
        Ingest(store).run([str(folder)])
        assert count(store) == 0
        try:
            told = [error["reason"] for error in Ingest(store).run([str(path)]).errors]
        except SourceError as error:
            told = [str(error)]
        assert told
        assert count(store) == 0
        with pytest.raises(SourceError):
            store_file(store, "mine", str(path), {})
        assert count(store) == 0
        assert not refresh(store).files


@pytest.mark.parametrize("name", [".hidden/x.md", "node_modules/x.md", "x.txt", "drafts/x.md"])
def test_a_name_is_a_choice(store: HybridStore, folder: Path, name: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(SECRET)
    with store:
        assert Ingest(store, exclude=["drafts"]).run([str(path)]).files == 1
        assert [hit["path"] for hit in store.search("walnut")] == [str(path)]


def test_links_in_the_folder_of_the_file_and_above_it_are_followed(
    store: HybridStore, folder: Path
) -> None:
    (folder / "CLAUDE.md").write_text(SECRET)
    (folder / "AGENTS.md").symlink_to("CLAUDE.md")
    (folder.parent / "alias").symlink_to("memory")
    with store:
        for name in ("memory/AGENTS.md", "alias/CLAUDE.md", "alias/../memory/CLAUDE.md"):
            Ingest(store).run([str(folder.parent / name)])
            assert [hit["path"] for hit in store.search("walnut")] == [str(folder / "CLAUDE.md")]


def test_a_link_out_is_followed_if_links_are(store: HybridStore, folder: Path) -> None:
    (folder / "x.md").symlink_to("../outside/secret.md")
    with store:
        with pytest.raises(SourceError, match="symbolic link to .*; name that file itself"):
            Ingest(store).run([str(folder / "x.md")])
        Ingest(store, follow_symlinks=True).run([str(folder / "x.md")])
        assert count(store) == 1


def test_a_named_file_that_becomes_a_link_out_is_an_error_and_its_document_stays(
    store: HybridStore, folder: Path
) -> None:
    path = folder / "x.md"
    path.write_text("The cashew.")
    with store:
        Ingest(store).run([str(path)])
        path.unlink()
        path.symlink_to("../outside/secret.md")
        [error] = Ingest(store, incremental=True).update().errors
        assert "symbolic link" in error["reason"]
        assert len(store.search("cashew")) == 1
        assert not store.search("walnut")
