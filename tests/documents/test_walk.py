import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.documents.files import Walk


def tree(top: Path, *names: str) -> str:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("x")
    return str(top)


def names(top: str, *patterns: str, **options: Any) -> list[str]:
    return [file.relative for file in Walk(top, patterns or ["*.md"], **options)]


def test_files_come_in_order_folder_by_folder(tmp_path: Path) -> None:
    top = tree(tmp_path, "b.md", "a.md", "d/z.md", "d/e/y.md", "c/x.md", "n.txt")
    assert names(top) == ["a.md", "b.md", "c/x.md", "d/z.md", "d/e/y.md"]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (["*.md", "*.txt"], ["a.md", "b.txt", "d/c.md"]),
        (["[ab].*"], ["a.md", "b.txt"]),
        (["c.md"], ["d/c.md"]),
        (["*.MD"], ["a.md", "d/c.md"]),
    ],
)
def test_patterns_match_file_names_at_any_depth(
    tmp_path: Path, patterns: list[str], expected: list[str]
) -> None:
    assert names(tree(tmp_path, "a.md", "b.txt", "d/c.md"), *patterns) == expected


@pytest.mark.parametrize(
    ("exclude", "expected"),
    [
        ("drafts/", ["a.md", "d/e/b.md"]),
        ("drafts/*", ["a.md", "d/drafts/c.md", "d/e/b.md"]),
        ("**/drafts/**", ["a.md", "d/e/b.md"]),
        ("d/e", ["a.md", "drafts/f.md", "d/drafts/c.md"]),
        ("[bc].md", ["a.md", "drafts/f.md"]),
    ],
)
def test_exclude_takes_out_files_and_prunes_folders(
    tmp_path: Path, exclude: str, expected: list[str]
) -> None:
    top = tree(tmp_path, "a.md", "d/e/b.md", "d/drafts/c.md", "drafts/f.md")
    assert sorted(names(top, exclude=[exclude])) == sorted(expected)


def test_hidden_names_are_skipped_unless_a_pattern_names_them(tmp_path: Path) -> None:
    top = tree(tmp_path, ".git/a.md", "d/.venv/c.md", ".d.md", "._e.md", "e.md")
    walk = Walk(top, ["*.md"])
    assert [file.relative for file in walk] == ["e.md"]
    assert Counter(walk.left_out.values()) == {"hidden": 4}
    assert names(top, ".d.md") == [".d.md"]


@pytest.mark.parametrize(
    ("files", "rule"),
    [
        (["node_modules/a.md"], "node_modules"),
        (["env/pyvenv.cfg", "env/lib/a.md"], "generated"),
        (["go.mod", "vendor/a.md"], "generated"),
        (["Cargo.toml", "target/a.md"], "generated"),
        (["package.json", "dist/a.md"], "generated"),
        (["logseq/config.edn", "logseq/bak/a.md"], "generated"),
        (["logseq/config.edn", "logseq/.recycle/a.md"], "hidden"),
        ([".trash/a.md"], "hidden"),
    ],
)
def test_folders_that_tools_make_are_skipped_unless_they_are_named(
    tmp_path: Path, files: list[str], rule: str
) -> None:
    walk = Walk(tree(tmp_path, *files), ["*.md"])
    assert list(walk) == []
    (folder,) = (path for path, found in walk.left_out.items() if found == rule)
    assert list(Walk(folder, ["*.md"]))


def test_a_folder_of_notes_may_have_the_name_of_a_generated_one(tmp_path: Path) -> None:
    files = ["bak/a.md", "dist/a.md", "target/a.md", "vendor/a.md"]
    assert names(tree(tmp_path, *files)) == files


def test_only_regular_files_are_files(tmp_path: Path) -> None:
    top = tree(tmp_path, "a.md")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "pipe-link.md").symlink_to("pipe.md")
    (tmp_path / "null.md").symlink_to("/dev/zero")
    walk = Walk(top, ["*.md"], follow_symlinks=True)
    assert [file.relative for file in walk] == ["a.md"]
    links = dict.fromkeys((f"{top}/null.md", f"{top}/pipe-link.md"), "symbolic link")
    assert (walk.left_out, walk.unread) == (links | {f"{top}/pipe.md": "special"}, [])


def test_links_are_counted_and_loops_of_them_do_no_harm(tmp_path: Path) -> None:
    top = tree(tmp_path, "a.md", "d/b.md")
    (tmp_path / "self.md").symlink_to("self.md")
    (tmp_path / "up").symlink_to("..")
    (tmp_path / "d/other").symlink_to("../d")
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "picture.png").symlink_to("a.md")  # no pattern matches it
    walk = Walk(top, ["*.md"])
    assert [file.relative for file in walk] == ["a.md", "d/b.md"]
    links = dict.fromkeys(
        (f"{top}/{name}" for name in ("self.md", "up", "d/other", "gone.md")), "symbolic link"
    )
    assert (walk.left_out, walk.unread) == (links | {f"{top}/picture.png": "pattern"}, [])


def test_what_is_there_itself_is_not_taken_by_a_link_to_it(tmp_path: Path) -> None:
    top = tree(tmp_path / "top", "real/a.md", "z.md")
    (tmp_path / "top/alias").symlink_to("real")
    (tmp_path / "top/first.md").symlink_to("z.md")
    walk = Walk(top, ["*.md"], follow_symlinks=True)
    assert [file.relative for file in walk] == ["z.md", "real/a.md"]
    assert list(walk.left_out.values()) == ["symbolic link"] * 2


def test_followed_links_give_every_place_once(tmp_path: Path) -> None:
    top = tree(tmp_path / "top", "a.md")
    tree(tmp_path / "outside", "b.md", "d/c.md")
    (tmp_path / "outside/back").symlink_to(tmp_path / "top")
    (tmp_path / "top/one").symlink_to(tmp_path / "outside")
    (tmp_path / "top/two").symlink_to(tmp_path / "outside/d")
    (tmp_path / "top/three.md").symlink_to(tmp_path / "outside/b.md")
    tree(tmp_path / "alone", "e.md")
    (tmp_path / "outside/d/z").symlink_to(tmp_path / "alone")
    assert names(top, follow_symlinks=True) == ["a.md", "one/b.md", "one/d/c.md", "one/d/z/e.md"]


def test_folder_that_cannot_be_listed_is_named_and_the_rest_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tree(tmp_path, "a.md", "closed/b.md", "vanished/c.md", "open/d.md")
    scandir = os.scandir

    def guarded(path: str) -> Any:  # root may list everything
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied")
        if path.endswith("vanished"):
            raise FileNotFoundError(2, "No such file or directory")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    walk = Walk(top, ["*.md"])
    assert [file.relative for file in walk] == ["a.md", "open/d.md"]
    assert walk.unread == [(f"{top}/closed", "Permission denied")]


def test_top_that_vanished_is_unread_not_empty(tmp_path: Path) -> None:
    walk = Walk(str(tmp_path / "gone"), ["*.md"])
    assert list(walk) == []
    assert walk.unread == [(str(tmp_path / "gone"), "No such file or directory")]


def test_strange_names(tmp_path: Path) -> None:
    for name in (b"\xff.md", b"new\nline.md", b"n" * 252 + b".md", b" .md"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x")
    assert len(names(str(tmp_path))) == 4


def test_folder_reached_by_a_link_is_unread_and_says_so(tmp_path: Path) -> None:
    tree(tmp_path / "real", "d/a.md")
    (tmp_path / "link").symlink_to("real")
    walk = Walk(f"{tmp_path}/link/d", ["*.md"])
    assert list(walk) == []
    assert walk.unread == [(f"{tmp_path}/link/d", "a part of its path is a symbolic link")]
    assert names(f"{tmp_path}/link/d", follow_symlinks=True) == ["a.md"]
