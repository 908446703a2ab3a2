"""What lists such as `.gitignore`, the rules for skills, and copies of sync programs leave out."""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.documents.files import Walk
from hybrid_memory.documents.ignores import Ignores


def tree(top: Path, *names: str, text: str = "x") -> str:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    return str(top)


def names(top: Path | str, no_ignore: bool = False) -> list[str]:
    return sorted(file.relative for file in Walk(str(top), ["*.md"], no_ignore=no_ignore))


def ignored(lines: list[str], path: str) -> bool:
    """Whether git's rules leave out a file by these lines in the top folder."""
    lists = Ignores(
        "/t", lambda folder, rule: lines if (folder, rule) == ("/t", ".gitignore") else []
    )
    parts = path.split("/")
    folders = ["/".join(parts[:depth]) for depth in range(1, len(parts))]
    return any(lists.ignored(f"/t/{folder}", True) for folder in folders) or bool(
        lists.ignored(f"/t/{path}", False)
    )


LETTERS = st.sampled_from(
    ["a", "b", "*", "**", "?", "/", "[ab]", "[!a]", "[^b]", "[a-c]", "[[:alpha:]]", "[]a]", "[a", "\\", "\\*", "\\ ", " ", ".", "-", "[a-]", "[--a]", "[\\]a]", "+", "(", "**/", "/**"]
)  # fmt: skip
# git compares unrelated addresses for two stars that are no folders, so its answer varies
UNDEFINED = re.compile(r"[^/!]\*\*|\*\*[^/]|!\*\*[^/]")
# Everything in a folder, and exceptions in it: random lines hardly ever meet
FOLDERS_AND_EXCEPTIONS = ["a/*", "/b/*", "a/b/*", "a/**", "*/*", "*/", "a/", "!a/b", "!b/a", "!a/b/a", "!a/b/", "!*/"]  # fmt: skip
LINES = st.lists(
    st.builds(
        lambda start, body, end: start + "".join(body) + end,
        st.sampled_from(["", "", "", "!", "/", "#", "\\!", "\\#"]),
        st.lists(LETTERS, min_size=1, max_size=6),
        st.sampled_from(["", "", "/", " ", "\\ "]),
    ).filter(lambda line: not UNDEFINED.search(line))
    | st.sampled_from(FOLDERS_AND_EXCEPTIONS),
    min_size=1,
    max_size=4,
)
PLACES = [
    *("a", "b", "ab", "a/b", "a/a", "b/a", "a/b/a", "b/a/b", "ab/ba/a", "a b", "a ", "a*", "!a", "#a", "]a", "-", "a.b", "b/.a", "+a/(b"),
]  # fmt: skip


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@given(st.lists(LINES, min_size=20, max_size=20))
@settings(max_examples=5, deadline=None)
def test_the_rules_are_those_of_git(lists: list[list[str]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as top:
        subprocess.run(["git", "init", "-q", top], check=True)
        for lines in lists:
            Path(top, ".gitignore").write_text("\n".join(lines) + "\n")
            done = subprocess.run(
                ["git", "check-ignore", "--no-index", "--stdin", "-z"],
                cwd=top,
                input="\0".join(PLACES).encode(),
                capture_output=True,
            )
            assert done.returncode in (0, 1), done.stderr
            of_git = {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}
            ours = {place for place in PLACES if ignored(lines, place)}
            assert ours == of_git, lines


@pytest.mark.parametrize(
    ("lists", "left"),
    [
        ({".gitignore": "drafts/\nsecret*.md"}, ["d/a.md", "ok.md"]),
        ({".gitignore": "*.md\n!ok.md"}, ["ok.md"]),
        ({".gitignore": "d/*\n!d/a.md"}, ["d/a.md", "drafts/a.md", "ok.md", "secret1.md"]),
        ({".gitignore": "# ok.md\n\n/d\r\n"}, ["d/secret2.md", "drafts/a.md", "ok.md", "secret1.md"][1:]),
        ({"d/.gitignore": "a.md"}, ["d/secret2.md", "drafts/a.md", "ok.md", "secret1.md"]),
        ({".gitignore": "secret*.md", "d/.gitignore": "!secret2.md"}, ["d/a.md", "d/secret2.md", "drafts/a.md", "ok.md"]),
        ({".ignore": "drafts\nd"}, ["ok.md", "secret1.md"]),
        ({".gitignore": "*.md", ".ignore": "!ok.md"}, ["ok.md"]),
        ({".gitignore": ""}, ["d/a.md", "d/secret2.md", "drafts/a.md", "ok.md", "secret1.md"]),
    ],
)  # fmt: skip
def test_lists_leave_out_files_unless_they_are_not_heeded(
    tmp_path: Path, lists: dict[str, str], left: list[str]
) -> None:
    tree(tmp_path, "ok.md", "secret1.md", "drafts/a.md", "d/a.md", "d/secret2.md")
    everything = names(tmp_path)
    for name, text in lists.items():
        (tmp_path / name).write_text(text, newline="")
    assert names(tmp_path) == left
    assert names(tmp_path, no_ignore=True) == everything
    assert names(tmp_path / "drafts") == ["a.md"]  # a folder that is named


@pytest.mark.parametrize("line", ["memory/", "memory", "/memory/", "memory/*", "memory/**", "*.md", "**/*.md", "MEMORY.md"])  # fmt: skip
def test_the_usual_notes_of_an_agent_may_be_ignored_by_git(tmp_path: Path, line: str) -> None:
    notes = ["MEMORY.md", "memory/2026-01-05.md", "memory/deep/a.md"]
    tree(tmp_path, *notes)
    (tmp_path / ".gitignore").write_text(line)
    assert names(tmp_path) == notes
    (tmp_path / ".ignore").write_text(line)
    assert names(tmp_path) != notes


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        (["Archive/"], ["Archive.md", "x.excalidraw.md", "y/Archive/b.md"]),
        (["Arch"], ["x.excalidraw.md", "y/Archive/b.md"]),
        (["*.excalidraw.md"], ["Archive.md", "Archive/a.md", "y/Archive/b.md"]),
        (["/Archive\\//"], ["Archive.md", "x.excalidraw.md"]),
        (["/^Archive\\.md$/"], ["Archive/a.md", "x.excalidraw.md", "y/Archive/b.md"]),
        (["/(?<x>/", 7, "", None], ["Archive.md", "Archive/a.md", "x.excalidraw.md", "y/Archive/b.md"]),
        ("Archive/", ["Archive.md", "Archive/a.md", "x.excalidraw.md", "y/Archive/b.md"]),
    ],
)  # fmt: skip
def test_the_excluded_files_of_a_vault_are_left_out(
    tmp_path: Path, filters: object, left: list[str]
) -> None:
    vault = tmp_path / "vault"
    tree(vault, "Archive/a.md", "Archive.md", "y/Archive/b.md", "x.excalidraw.md")
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian/app.json").write_text(json.dumps({"userIgnoreFilters": filters}))
    assert names(vault) == left
    assert names(tmp_path) == [f"vault/{name}" for name in left]  # a vault below the folder
    assert len(names(vault, no_ignore=True)) == 4


def test_a_skill_is_left_out_unless_it_is_named(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "skills/x/SKILL.md",
        "skills/x/references/a.md",
        "skills/README.md",
        "d/SKILL.md/n.md",
        "MEMORY.md",
    )
    walk = Walk(str(tmp_path), ["*.md"])
    assert [file.relative for file in walk] == ["MEMORY.md", "d/SKILL.md/n.md", "skills/README.md"]
    assert walk.left_out == {str(tmp_path / "skills/x"): "skill"}
    assert names(tmp_path / "skills/x") == ["SKILL.md", "references/a.md"]
    assert names(tmp_path / "skills") == ["README.md", "x/SKILL.md", "x/references/a.md"]


COPIES = [
    "router (Ann's conflicted copy 2026-03-03).md",
    "router (Ann's conflicted copy 2026-03-03) (1).md",
    "router (conflicted copy 2026-03-05 101112).md",
    "router (Case Conflict).md",
    "router (In Konflikt stehende Kopie von Ann 2026-03-03).md",
    "router (Copie en conflit de Ann 2026-03-03).md",
    "router (conflict 2026-03-05-10-11-12).md",
    "router (Conflicted copy MacBook 202603061011).md",
    "router.sync-conflict-20260304-101112-ABCDEFG.md",
    "router_conflict-20260306-101112.md",
    "router 2.md",
]


@pytest.mark.parametrize("copy", COPIES)
def test_a_conflict_copy_is_left_out_while_its_original_is_there(tmp_path: Path, copy: str) -> None:
    tree(
        tmp_path,
        "router.md",
        text="# Router\n\nThe admin page of the router is at 192.168.7.1, user root.\n\n## Wifi\n\nChannel 11.\n",
    )
    tree(tmp_path, copy, text="# Router\n\nThe admin page of the router is at 192.168.3.1.\n")
    walk = Walk(str(tmp_path), ["*.md"])
    assert [file.relative for file in walk] == ["router.md"]
    assert Counter(walk.left_out.values()) == {"conflict copy": 1}
    assert walk.wanted.takes(str(tmp_path / copy)) is False
    (tmp_path / "router.md").unlink()
    assert names(tmp_path) == [copy]


@pytest.mark.parametrize(
    ("name", "other", "text"),
    [
        ("Trip.md", "Trip 2.md", "We crossed the other pass on a cold day.\n"),
        (
            "Trip.md",
            "Trip 1.md",
            "We walked along the lake.\n",
        ),  # Obsidian's name for a second note
        ("Trip.md", "Trip 12.md", "We walked along the lake.\n"),
        ("Trip.md", "Trip (conflict with Ann).md", "We walked along the lake.\n"),
        ("Trip.md", "Trip_conflict.md", "We walked along the lake.\n"),
        ("Trip.txt", "Trip 2.md", "We walked along the lake.\n"),
        ("other/Trip.md", "Trip 2.md", "We walked along the lake.\n"),
    ],
)
def test_a_note_with_a_similar_name_is_a_note(
    tmp_path: Path, name: str, other: str, text: str
) -> None:
    tree(tmp_path, name, text="We walked along the lake.\n")
    tree(tmp_path, other, text=text)
    assert other in names(tmp_path)
