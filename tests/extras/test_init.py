"""The command `init`: what it finds, what it asks, what it takes in, and the lines that it prints."""

import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

import hybrid_memory
from hybrid_memory import paths
from tests.command import Run, answer, as_process, in_process, in_terminal

# The child only executes another program, so no lock of another thread can stop it.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of forkpty:DeprecationWarning")

SAID = (
    json.dumps(
        {
            "type": "message",
            "message": {"role": "user", "content": "The gpu password=hunter2hunter2 is old."},
        }
    )
    + "\n"
)


LEFT_OUT = (
    "left out: skills (1 file); skills and ignored files are no notes; "
    "`hybrid-memory ingest --path PATH` adds any of them"
)


@pytest.fixture
def home(tmp_path: Path, environ: dict[str, str]) -> Path:
    """A home with OpenClaw's sessions, of which the test's environment knows."""
    sessions = tmp_path / "home/.openclaw/agents/main/sessions"
    sessions.mkdir(parents=True)
    (sessions / "one.jsonl").write_text(SAID)
    environ |= {"HOME": str(tmp_path / "home"), "HYBRID_MEMORY_PROVIDER": "builtin"}
    return tmp_path / "home"


@pytest.fixture
def workspace(home: Path) -> Path:
    top = home / "work space"
    for name in (
        "memory/2026-01-05.md",
        "notes/deep/a.md",
        "MEMORY.md",
        "AGENTS.md",
        "README.md",
        "docs/c.md",
        "docs/plan.png",
        "src/b.md",
        *(f"src/{number}.py" for number in range(6)),
        "skills/x/SKILL.md",
    ):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"# {name}\n\nThe gpu server has port 2222.\n")
    return top


def typed(environ: dict[str, str], reply: str, *args: str) -> tuple[int, str]:
    """The command on a terminal of 80 columns on which this is typed: the exit status and what is seen."""
    pid, master = pty.fork()
    if pid == 0:
        os.execve(
            sys.executable,
            [sys.executable, "-m", "hybrid_memory", *args],
            environ | {"COLUMNS": "80", "TERM": "dumb"},
        )
    os.write(master, reply.encode())
    seen = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        seen += block
    os.close(master)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), seen.decode().replace("\r\n", "\n")


def found(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, int, bool, bool]]:
    places = json.loads(done.stdout)["found"]
    return {
        os.path.basename(p["path"]): (p["kind"], p["files"], p["taken"], p["in_memory"])
        for p in places
    }


def test_without_a_terminal_it_says_what_it_found_and_changes_nothing(
    run: Run, workspace: Path, environ: dict[str, str]
) -> None:
    done = run("init", str(workspace))
    assert (done.returncode, os.path.exists(environ["HYBRID_MEMORY_DB_PATH"])) == (1, False)
    assert found(done) == {
        "AGENTS.md": ("file", 1, False, False),
        "MEMORY.md": ("file", 1, False, False),
        "README.md": ("file", 1, False, False),
        "docs": ("folder", 1, False, False),
        "memory": ("folder", 1, False, False),
        "notes": ("folder", 1, False, False),
        "sessions": ("sessions", 1, False, False),
        "src": ("folder", 1, False, False),
    }
    assert done.stderr.splitlines() == [
        "hybrid-memory: nothing was changed; use --yes to ingest the notes without a question",
        f"hybrid-memory: {LEFT_OUT}",
    ]
    rest = [(os.path.basename(p["path"]), p["files"]) for p in json.loads(done.stdout)["left_out"]]
    assert rest == [("skills", 1)]
    assert "next" not in json.loads(done.stdout)


def test_yes_takes_in_the_notes_but_no_sessions(run: Run, workspace: Path) -> None:
    done = run("init", str(workspace), "--yes")
    assert done.returncode == 0
    assert {name: taken for name, (_, _, taken, _) in found(done).items()} == {
        "AGENTS.md": True, "MEMORY.md": True, "README.md": True, "docs": True, "memory": True, "notes": True, "sessions": False, "src": True,
    }  # fmt: skip
    assert (
        "session transcripts are private and were left out; use --sessions to ingest them"
        in done.stderr
    )
    ids = [document["doc_id"] for document in answer(run("list"))["documents"]]
    assert sorted(ids) == [
        "AGENTS.md",
        "MEMORY.md",
        "README.md",
        "docs/c.md",
        "memory/2026-01-05.md",
        "notes/deep/a.md",
        "src/b.md",
    ]


def test_sessions_are_taken_when_they_are_asked_for_and_masked(run: Run, workspace: Path) -> None:
    assert run("init", str(workspace), "--yes").returncode == 0
    done = run("init", str(workspace), "--sessions")
    assert (done.returncode, found(done)["sessions"]) == (0, ("sessions", 1, True, True))
    [hit] = answer(run("search", "old password", "--collection", "sessions"))
    assert "hunter2" not in hit["text"]


def test_a_second_run_says_what_is_in_and_reads_nothing(run: Run, workspace: Path) -> None:
    first = answer(run("init", str(workspace), "--yes", "--sessions"))
    done = run("init", str(workspace))
    again = answer(done)
    assert all(place["in_memory"] and not place["taken"] for place in again["found"])
    assert (again["reports"], again["next"], again["crontab"]) == (
        [],
        first["next"],
        first["crontab"],
    )
    assert done.stderr.splitlines() == [
        "hybrid-memory: everything is already ingested; run `hybrid-memory update` to read changed files",
        f"hybrid-memory: {LEFT_OUT}",
    ]


def test_what_a_folder_around_it_takes_in_counts_as_in(run: Run, workspace: Path) -> None:
    run("ingest", "--path", str(workspace))
    places = found(run("init", str(workspace), "--yes"))
    assert {name: in_memory for name, (_, _, _, in_memory) in places.items()} == {
        "AGENTS.md": True, "MEMORY.md": True, "README.md": True, "docs": True, "memory": True, "notes": True, "sessions": False, "src": True,
    }  # fmt: skip


def test_a_terminal_shows_what_is_left_out_and_is_asked_for_notes_and_for_sessions_apart(
    workspace: Path, environ: dict[str, str], run: Run
) -> None:
    status, seen = typed(environ, "n\n", "init", str(workspace))
    assert (status, os.path.exists(environ["HYBRID_MEMORY_DB_PATH"])) == (1, False)
    assert re.search(r"/notes  \(notes, 1 file, 1 KB\)", seen)
    assert "left out: skills (1 file); skills and ignored files" in " ".join(seen.split())
    assert "Ingest 7 files? [Y/n]" in seen
    assert "of sessions" not in seen
    status, seen = typed(environ, "\n\n", "init", str(workspace))  # what Enter means
    assert status == 0
    assert "Also ingest 1 file of sessions? Recognised secrets are masked. [y/N]" in seen
    assert {p["path"]: p["in_memory"] for p in answer(run("init", str(workspace)))["found"]}[
        f"{environ['HOME']}/.openclaw/agents/main/sessions"
    ] is False
    status, seen = typed(environ, "y\n", "init", str(workspace))
    assert (status, "Ingest 6 files" in seen) == (0, False)
    assert answer(run("stats"))["doc_count"] == 8


def test_the_lines_that_are_printed_run_from_anywhere(
    workspace: Path, environ: dict[str, str], run: Run, tmp_path: Path
) -> None:
    lines = answer(as_process(("init", str(workspace), "--yes"), environ, tmp_path))
    cron = lines["crontab"].partition("  ")[2]
    commands = [*lines["next"], cron, *re.findall("`(.* .*?)`", lines["agents_md"])]
    assert len(commands) == 8
    (tmp_path / "elsewhere").mkdir()
    bare = {"PATH": "/usr/bin:/bin", "HOME": environ["HOME"], "HYBRID_MEMORY_PROVIDER": "none"}
    for command in commands:
        words = command.replace("CITATION", "MEMORY.md#L3-L3").replace("…", "gpu")
        done = subprocess.run(
            words, shell=True, cwd=tmp_path / "elsewhere", env=bare, capture_output=True, text=True
        )
        assert done.returncode == 0, (command, done.stderr)
    assert shlex.split(cron)[0] == sys.executable  # for `python -m hybrid_memory`


def test_a_vault_is_one_place_and_so_is_a_plain_folder_of_notes(home: Path, run: Run) -> None:
    for top, names in (
        ("vault", (".obsidian/app.json", "memory/a.md", "b.md")),
        ("plain", ("c.md", "sub/d.md")),
    ):
        for name in names:
            (home / top / name).parent.mkdir(parents=True, exist_ok=True)
            (home / top / name).write_text("x")
    assert found(run("init", str(home / "vault")))["vault"][:2] == ("vault", 2)
    assert found(run("init", str(home / "plain")))["plain"][:2] == ("folder", 2)
    assert found(run("init", str(home)))["vault"][:2] == ("vault", 2)  # below the folder


def test_where_there_are_no_notes_it_says_so(home: Path, run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = run("init", str(tmp_path / "empty"), "--yes", "--sessions")
    assert done.returncode == 1
    assert "there is no markdown in" in done.stderr
    missing = run("init", str(tmp_path / "absent"), "--yes")
    assert (missing.returncode, missing.stderr) == (
        1,
        f"hybrid-memory: cannot look into {tmp_path}/absent: No such file or directory\n",
    )


def written(top: Path, *names: str) -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"# {name}\n\nThe gpu server.\n")


def test_a_folder_around_vaults_is_taken_with_all_that_has_markdown(home: Path, run: Run) -> None:
    top = home / "all"
    written(top, "v1/.obsidian/a.md", "v1/a.md", "v2/.obsidian/a.md", "v2/deep/b.md")
    written(top, "til/git/c.md", "til/d.md", "help/e.md", "loose.md", ".hidden/f.md")
    done = run("init", str(top), "--yes")
    assert done.returncode == 0
    assert {name: place[:3] for name, place in found(done).items() if name != "sessions"} == {
        "v1": ("vault", 1, True),
        "v2": ("vault", 1, True),
        "til": ("folder", 2, True),
        "help": ("folder", 1, True),
        "loose.md": ("file", 1, True),
    }
    assert answer(run("stats"))["doc_count"] == 6


def test_a_folder_with_notes_only_in_folders_below_is_one_place(home: Path, run: Run) -> None:
    written(home / "x1", "sub/deep/a.md", "sub/b.md")
    done = run("init", str(home / "x1"), "--yes")
    assert (done.returncode, found(done)["x1"]) == (0, ("folder", 2, True, True))


def test_a_second_workspace_is_taken_in_beside_the_first_one(
    home: Path, run: Run, tmp_path: Path
) -> None:
    for top in (home / "A", home / "B", tmp_path / "other/B"):
        written(top, "memory/2026-01-05.md", "MEMORY.md", "AGENTS.md")
        done = run("init", str(top), "--yes")
        assert (done.returncode, "delete --collection" in done.stderr) == (0, False)
        again = run("init", str(top), "--yes")
        assert (again.returncode, json.loads(again.stdout)["reports"]) == (0, [])
    ids = {document["doc_id"] for document in answer(run("list"))["documents"]}
    assert ids == {
        *("AGENTS.md", "MEMORY.md", "memory/2026-01-05.md"),
        *("AGENTS-B/AGENTS.md", "MEMORY-B/MEMORY.md", "memory-B/2026-01-05.md"),
        *("AGENTS-B-2/AGENTS.md", "MEMORY-B-2/MEMORY.md", "memory-B-2/2026-01-05.md"),
    }


def test_each_workspace_has_a_memory_of_its_own_unless_one_is_chosen(
    environ: dict[str, str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "hybrid_memory").symlink_to(Path(hybrid_memory.__file__).parent)
    monkeypatch.setattr(paths, "CHECKOUT", str(installed))
    data = tmp_path / "data"
    environ = {key: value for key, value in environ.items() if key != "HYBRID_MEMORY_DB_PATH"}
    environ |= {"PYTHONPATH": str(installed), "XDG_DATA_HOME": str(data)}

    def run(*args: str, cwd: Path = tmp_path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()))):
            return in_process(args, environ, cwd)

    memories = []
    for top in (home / "A", home / "B", tmp_path / "other/B"):
        written(top, "memory/2026-01-05.md", "MEMORY.md")
        (top / "memory/2026-01-05.md").write_text(f"The heron of {top} nests.")
        for _ in range(2):  # a second time, it is the same memory
            told = answer(run("init", str(top), "--yes"))
        memories.append(told["db_path"])
        search = shlex.split(told["next"][0])[:-1]
        [*_, called] = [place for place, word in enumerate(search) if word == "search"]
        options = search[search.index("--db") : called] if "--db" in search else []
        hits = answer(run(*options, "search", "heron", "--json"))
        assert [hit["doc_id"] for hit in hits] == ["memory/2026-01-05.md"]
        assert str(top) in hits[0]["text"]
    for top in (home / "A", home / "B", tmp_path / "other/B"):
        below = top / "src"
        below.mkdir()
        hook = {"hook_event_name": "UserPromptSubmit", "prompt": "Where does our heron nest?"}
        for cwd, stdin in ((tmp_path, hook | {"cwd": str(below)}), (below, hook)):
            recalled = run("recall", "--timeout", "0", cwd=cwd, stdin=json.dumps(stdin)).stdout
            assert f"The heron of {top} nests." in recalled
            assert recalled.count("The heron of") == 1
        hits = answer(run("search", "heron", "--json", cwd=below))
        assert [hit["text"] for hit in hits] == [f"The heron of {top} nests."]
        chosen_by = answer(run("stats", "--json", cwd=below))["db_path_from"]
        assert chosen_by == ("default" if top.name == "A" else "workspace")
        said = run("note", "The wader came back.", cwd=top)
        assert answer(said)["citation"]
        if top == home / "B":
            run("note", "--dir", "~/B", "A stork came, too.")  # no shell has replaced the ~
            assert "stork" in answer(run("search", "stork", "--json", cwd=top))[0]["text"]
        call = {"name": "memory_search", "arguments": {"query": "heron wader", "floor": 0}}
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        found = as_process(("mcp",), environ, below, input=json.dumps(asked) + "\n").stdout
        assert f"The heron of {top} nests." in found
        assert "The wader came back." in found
        assert found.count("The heron of") == 1
    folder = data / "hybrid-memory"
    assert memories == [str(folder / name) for name in ("hybrid_search.db", "B.db", "B-2.db")]
    both = run("init", str(home / "B"), "--yes", "--db", memories[0])
    assert both.returncode == 0
    found = run("search", "heron", "--json").stdout
    assert found.count("The heron of") == 2


def test_the_lines_name_the_provider_that_an_option_chose(workspace: Path, run: Run) -> None:
    lines = answer(run("init", str(workspace), "--yes", "--provider", "builtin"))
    assert "--provider builtin" in lines["crontab"]
    assert "--provider builtin" in lines["agents_md"]


def test_a_person_gets_lines_for_an_agent_and_for_cron(
    environ: dict[str, str], run: Run, home: Path
) -> None:
    written(home / "plain", "a.md")
    seen = in_terminal(environ, "init", str(home / "plain"), "--yes")
    assert "For AGENTS.md" in seen
    assert "For `crontab -e`" in seen
    assert "## Memory" in answer(run("init", str(home / "plain"), "--yes"))["agents_md"]


NEW_AGENTS = {
    "no memory": {"AGENTS.md": "# Agents\n"},
    "an empty memory": {"AGENTS.md": "# Agents\n", "memory/": ""},
    "nothing but an empty memory": {"memory/": ""},
    "a folder of settings": {".claude/": ""},
}


@pytest.mark.parametrize("kind", NEW_AGENTS)
def test_notes_that_a_new_agent_writes_later_get_in(
    kind: str, home: Path, run: Run, environ: dict[str, str]
) -> None:
    top = home / "new"
    for name, text in NEW_AGENTS[kind].items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).mkdir() if name.endswith("/") and not (top / name).exists() else None
        if not name.endswith("/"):
            (top / name).write_text(text)
    answer(run("init", str(top), "--yes"))
    done = run("update", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert not any(
        finding["ok"] is False for finding in answer(run("doctor")) if finding["check"] == "sources"
    )
    (top / "memory").mkdir(exist_ok=True)
    (top / "memory/2026-11-24.md").write_text("# Tuesday\n\nThe okapi came.\n")
    (top / "MEMORY.md").write_text("# Memory\n\nThe walnut is blue.\n")
    assert [hit["doc_id"] for hit in answer(run("search", "okapi", "--refresh"))] == [
        "memory/2026-11-24.md"
    ]
    answer(run("update"))
    assert [hit["doc_id"] for hit in answer(run("search", "walnut"))] == ["MEMORY.md"]
    (top / "MEMORY.md").unlink()
    done = run("update", "--quiet")
    assert done.returncode == 1
    assert "MEMORY.md" in done.stderr


def test_workspace_files_that_no_source_covers_are_named(
    workspace: Path, run: Run, environ: dict[str, str]
) -> None:
    answer(run("ingest", "--path", str(workspace / "memory")))
    done = run("update")
    assert f"not ingested yet: {workspace}/AGENTS.md, {workspace}/MEMORY.md" in done.stderr
    assert run("update", "--quiet").stderr == ""
    [finding] = [
        finding for finding in answer(run("doctor")) if "not ingested yet" in finding["text"]
    ]
    assert finding["ok"]
    found = json.loads(run("why", str(workspace / "notes/deep/a.md")).stdout)
    assert found["way_out"] == f"`hybrid-memory ingest --path '{workspace}/notes'` ingests it"
