"""To which workspace, and so to which memory, a folder belongs."""

import subprocess
from pathlib import Path

import pytest

from hybrid_memory.surface.memories import memory_of, record, recorded, workspace_of


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.com")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with the repository `repo`, its worktrees `beside` and `repo/below`, and other folders."""
    home = tmp_path.resolve()
    monkeypatch.setattr("hybrid_memory.paths.standard_database", lambda: str(home / "m.db"))
    for name in ("repo/src", "plain", "copy"):
        (home / name).mkdir(parents=True)
    git(home / "repo", "init", "-q")
    git(home / "repo", "commit", "-q", "--allow-empty", "-m", "one")
    for name in ("../beside", "below"):
        git(home / "repo", "worktree", "add", "-q", name)
    (home / "beside/src").mkdir()
    # Names the repository, which does not know it
    (home / "copy/.git").write_text((home / "beside/.git").read_text())
    return home


@pytest.mark.parametrize(
    ("folder", "top"),
    [
        ("repo", "repo"),
        ("repo/src", "repo"),
        ("repo/gone", "repo"),
        ("repo/below", "repo"),
        ("beside", "repo"),
        ("beside/src", "repo"),
        ("copy", None),
        ("plain", None),
        ("", None),
    ],
)
def test_a_folder_belongs_to_the_workspace_around_it_or_to_that_of_its_repository(
    home: Path, folder: str, top: str | None
) -> None:
    record(str(home / "repo"), "/repo.db")
    assert workspace_of(str(home / folder)) == (None if top is None else str(home / top))
    assert memory_of(str(home / folder)) == (None if top is None else "/repo.db")


def test_the_innermost_workspace_counts(home: Path) -> None:
    for name in (".", "repo", "repo/src"):
        record(str((home / name).resolve()), f"/{name}.db")
    assert memory_of(str(home / "repo/src/x")) == "/repo/src.db"
    assert memory_of(str(home / "beside")) == "/repo.db"
    assert memory_of(str(home / "plain")) == "/..db"


@pytest.mark.parametrize("text", ["", "[]", "{", "\x00"])
def test_a_damaged_list_is_empty(home: Path, text: str) -> None:
    (home / "workspaces.json").write_text(text)
    assert recorded() == {}
    record("/a", "/a.db")
    assert recorded() == {"/a": "/a.db"}
    assert (home / "workspaces.json").stat().st_mode & 0o077 == 0


def test_workspaces_recorded_at_the_same_time_are_all_kept(home: Path) -> None:
    from threading import Thread

    threads = [Thread(target=record, args=(f"/{n}", f"/{n}.db")) for n in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert recorded() == {f"/{n}": f"/{n}.db" for n in range(30)}
