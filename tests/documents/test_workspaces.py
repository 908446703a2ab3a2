"""To which workspace a transcript belongs."""

import json
from io import BytesIO
from pathlib import Path
from unicodedata import normalize

import pytest

from hybrid_memory.documents.workspaces import Workspace, session_folder


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """The folder `Café`, its other spelling and its neighbours."""
    top = tmp_path / normalize("NFC", "Café")
    (top / "src/deep").mkdir(parents=True)
    (tmp_path / "alias").symlink_to(top)
    (tmp_path / "Cafe").mkdir()
    (tmp_path / "Café2").mkdir()
    return top


@pytest.mark.parametrize(
    "folder",
    [
        "Café",
        "Café/",
        "Café/.",
        "Cafe/../Café",
        "Café/src/deep",
        "Café/src/deleted/long/ago",
        "alias",
        "alias/src/",
        normalize("NFD", "Café"),
        normalize("NFD", "Café") + "/src",
    ],
)
def test_what_is_in_a_workspace(top: Path, folder: str) -> None:
    assert Workspace(str(top)).has(f"{top.parent}/{folder}")


@pytest.mark.parametrize(
    "folder", ["", "/", "Cafe", "Café2", "Caf", "Café/..", "nowhere/Café", "Café\0", "Caf\ud800"]
)
def test_what_is_outside_a_workspace(top: Path, folder: str) -> None:
    assert not Workspace(str(top)).has(f"{top.parent}/{folder}")


def test_the_file_system_decides_which_names_are_one(top: Path) -> None:
    for name in (normalize("NFD", "Café"), "CAFÉ"):
        other = top.parent / name
        is_one = other.exists()
        other.mkdir(exist_ok=True)
        assert Workspace(str(top)).has(str(other)) == is_one


def test_a_workspace_that_is_gone_is_compared_by_its_path(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path / "gone"))
    assert workspace.has(str(tmp_path / "gone/src"))
    assert not workspace.has(str(tmp_path))


def line(**fields: object) -> str:
    return json.dumps(fields)


@pytest.mark.parametrize(
    ("lines", "folder"),
    [
        ([], None),
        ([line(type="user", cwd="/a")], "/a"),
        ([line(type="summary", summary="x"), "{broken", "[1]", line(cwd="/a")], "/a"),
        ([line(cwd="/a"), line(cwd="/b")], "/a"),
        ([line(type="session_meta", payload={"cwd": "/a"})], "/a"),
        ([line(type="user", message={"content": '{"cwd": "/a"}'})], None),
        ([line(cwd=name) for name in ("", "a", ".", "~", 7, None, ["/a"], "/" * 5000)], None),
        ([line(cwd=""), line(cwd="/a")], "/a"),
        (["[" * 100_000 + '"cwd"', line(cwd="/a")], "/a"),
    ],
)
def test_the_folder_in_which_a_session_began(lines: list[str], folder: str | None) -> None:
    assert session_folder(BytesIO("\n".join(lines).encode())) == folder
