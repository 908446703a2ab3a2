"""What hooks may name as the transcript of a session: the transcripts of agents, and no other file."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hybrid_memory
from hybrid_memory import HybridStore
from hybrid_memory.extras.recall import state
from hybrid_memory.extras.recall.transcripts import RefusedError, transcript
from tests.command import as_process, in_process

SECRET = "password=hunter2hunter2"
MESSAGE = {"role": "user", "content": f"The blue okapi door, {SECRET}, is locked."}
SAID = json.dumps({"type": "user", "sessionId": "a", "message": MESSAGE}) + "\n"
FORMS = {
    "claude": SAID,
    "openclaw": json.dumps({"type": "session", "version": 3, "id": "a"}) + "\n",
    "after other lines": "not JSON\n" + json.dumps({"a": 1}) + "\n" + SAID,
}
PROJECTS = ".claude/projects/-x"


def write(name: str, text: str | bytes = SAID) -> Callable[[Path], str]:
    """Return what makes a file below the home, and gives its path."""

    def make(home: Path) -> str:
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return make


def link(name: str, target: str, below: str = "") -> Callable[[Path], str]:
    """Return what makes a link below the home, and gives the path of it, or of something below."""

    def make(home: Path) -> str:
        write("elsewhere/a.jsonl")(home)
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target.format(home))
        return str(path / below)

    return make


def fifo(home: Path) -> str:
    path = home / PROJECTS / "a.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    return str(path)


OUTSIDE, FORM = "not in a folder", "it has no line in the format"
REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a system file": (lambda home: "/etc/passwd", OUTSIDE),
    "a transcript elsewhere": (write("elsewhere/a.jsonl"), OUTSIDE),
    "a way out": (
        lambda home: f"{write(f'{PROJECTS}/b.jsonl')(home)}/../../../../elsewhere/a.jsonl",
        OUTSIDE,
    ),
    "a link out": (link(f"{PROJECTS}/a.jsonl", "{}/elsewhere/a.jsonl"), OUTSIDE),
    "a folder that leads out": (link(PROJECTS, "{}/elsewhere", "a.jsonl"), OUTSIDE),
    "a FIFO": (fifo, "not a regular file"),
    "markdown": (write(f"{PROJECTS}/memory/MEMORY.md", "# okapi"), "its name"),
    "markdown by another name": (write(f"{PROJECTS}/a.jsonl", "# okapi\n\nA note."), FORM),
    "lines of JSON": (write(f"{PROJECTS}/a.jsonl", '{"okapi": 1}\n[1]\n"x"\n'), FORM),
    "a number": (lambda home: 5, "not a path"),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def command(home: Path, *words: str, stdin: Any = None) -> subprocess.CompletedProcess[str]:
    """Run the command: as a process, if it is a hook, which may start a background process."""
    database = {"HYBRID_MEMORY_DB_PATH": str(home / "m.db"), "HYBRID_MEMORY_PROVIDER": "none"}
    environ = os.environ | database
    if words[0] == "recall":
        return as_process(words, environ, home, input=json.dumps(stdin))
    return in_process(words, environ, home)


def wait_until(is_done: Callable[[], bool]) -> None:
    """Wait for what a background process does."""
    ended = time.monotonic() + 60
    while not is_done():
        assert time.monotonic() < ended
        time.sleep(0.05)


def hook(named: Any, event: str = "SessionEnd") -> dict[str, Any]:
    return {"hook_event_name": event, "session_id": "a", "transcript_path": named, "cwd": "/"}


@pytest.mark.parametrize("kind", REFUSED)
def test_any_other_file_is_refused(home: Path, kind: str) -> None:
    make, reason = REFUSED[kind]
    with pytest.raises(RefusedError, match=reason):
        transcript(make(home))


@pytest.mark.parametrize("kind", ["a link out", "a FIFO"])
def test_a_refusal_is_silent_and_the_doctor_names_it(home: Path, kind: str) -> None:
    make, reason = REFUSED[kind]
    named = make(home)
    with HybridStore(home / "m.db", {"provider": "none"}) as store:
        store.store("n", "A note.")
    assert "refused" not in command(home, "doctor").stdout
    for event in ("PreCompact", "Stop", "SessionEnd"):
        done = command(home, "recall", "--timeout", "0", stdin=hook(named, event))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    recalled = home / "state/hybrid-memory/recall"
    wait_until(lambda: not any(recalled.glob("begun-*")))
    findings = json.loads(command(home, "doctor").stdout)
    [finding] = [finding for finding in findings if finding["check"] == "refused"]
    assert finding["ok"]
    assert finding["text"].startswith("refused 1 file that hooks named")
    assert f"{named} (" in finding["text"]
    assert reason in finding["text"]
    assert json.loads(command(home, "stats", "--json").stdout)["doc_count"] == 1
    assert (recalled / "refused").stat().st_mode & 0o777 == 0o600


def test_without_a_memory_nothing_is_kept(home: Path) -> None:
    done = command(home, "recall", "--timeout", "0", stdin=hook("/etc/passwd"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wait_until(lambda: not any(path.is_file() for path in home.rglob("*")))


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_transcript_is_taken(home: Path, form: str) -> None:
    assert transcript(write(f"{PROJECTS}/a.jsonl", FORMS[form])(home), {})


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("", ".codex/sessions/2026/03/01"), ("GEMINI_CLI_HOME", "moved/.gemini/tmp/x/chats")],
)
def test_folders_of_agents_are_known(home: Path, variable: str, folder: str) -> None:
    path = write(f"{folder}/a.jsonl")(home)
    found = transcript(path, {variable: str(home / "moved")})
    assert found
    assert found.path == os.path.realpath(path)


def test_folders_of_agents_may_be_links(home: Path) -> None:
    path = write("dotfiles/claude/projects/-x/a.jsonl")(home)
    (home / ".claude").symlink_to("dotfiles/claude")
    found = transcript(str(home / ".claude/projects/-x/a.jsonl"), {})
    assert found
    assert found.path == path


def test_the_usual_folder_counts_although_a_variable_names_another_one(home: Path) -> None:
    assert transcript(
        write(f"{PROJECTS}/a.jsonl")(home), {"CLAUDE_CONFIG_DIR": str(home / "moved")}
    )


def test_a_transcript_that_nothing_was_written_to_is_no_refusal(home: Path) -> None:
    empty = write(f"{PROJECTS}/a.jsonl", "")(home)
    assert transcript(empty, {}) is None
    assert transcript(str(home / PROJECTS / "b.jsonl"), {}) is None


Run = Callable[..., str]


@pytest.fixture
def run(home: Path) -> Run:
    """Run an installed command in the home: the memory is that of the workspace."""
    environ = {key: value for key, value in os.environ.items() if key[:6] != "HYBRID"}
    installed = home / "installed"
    installed.mkdir()
    (installed / "hybrid_memory").symlink_to(Path(hybrid_memory.__file__).parent)
    environ |= {"PYTHONPATH": str(installed), "XDG_DATA_HOME": str(home / "data")}
    environ["HYBRID_MEMORY_PROVIDER"] = "none"

    def run(*words: str, stdin: str = "") -> str:
        if words[0] == "search":
            done = in_process(words, environ, home)
        else:
            done = as_process(words, environ, home, input=stdin)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def said_in(folder: Path) -> str:
    return json.dumps(json.loads(SAID) | {"cwd": str(folder)}) + "\n"


def wait_for(run: Run, word: str, database: str) -> str:
    """Wait until the background process has ingested it."""
    wait_until(lambda: word in run("search", word, "--json", "--db", database))
    return run("search", word, "--json", "--db", database)


def test_what_is_taken_in_is_masked_and_goes_to_the_workspace_of_the_session(
    home: Path, run: Run
) -> None:
    """`init` made the second memory; the hook runs somewhere else."""
    for name in ("one", "two"):
        (home / name / "memory").mkdir(parents=True)
        (home / name / "memory/a.md").write_text("# A\n\nA note.\n")
    own = [json.loads(run("init", name, "--yes"))["db_path"] for name in ("one", "two")]
    path = write(f"{PROJECTS}/a.jsonl", said_in(home / "two"))(home)
    assert run("recall", stdin=json.dumps(hook(path) | {"cwd": str(home / "one")})) == ""
    found = wait_for(run, "okapi", own[1])
    assert "[redacted]" in found
    assert "hunter2" not in found
    assert "okapi" not in run("search", "okapi", "--json", "--db", own[0])


def test_a_folder_that_init_does_not_know_gets_nothing_and_leaves_nothing(
    home: Path, run: Run
) -> None:
    """Two workspaces and a folder without a memory, in turn."""
    own = {}
    for name, bird in (("one", "heron"), ("two", "stork")):
        (home / name / "memory").mkdir(parents=True)
        (home / name / "memory/a.md").write_text(f"# Nests\n\nOur bird is the {bird}.\n")
        own[name] = json.loads(run("init", name, "--yes"))["db_path"]
    (home / "strange").mkdir()

    def called(name: str, event: str, **fields: str) -> str:
        common = {"hook_event_name": event, "cwd": str(home / name), "session_id": ""}
        options = ("recall", "--host", "claude", "--timeout", "0")
        return run(*options, stdin=json.dumps(common | fields))

    birds = {"one": "heron", "two": "stork"}
    for name in ("one", "strange", "two", "one"):
        recalled = called(name, "UserPromptSubmit", prompt="Which bird is our bird?")
        assert {bird for bird in birds.values() if bird in recalled} == (
            {birds[name]} if name in birds else set()
        )
        begun = called(name, "SessionStart", source="startup")
        assert ("this folder has no memory; `hybrid-memory init` creates one" in begun) == (
            name == "strange"
        )
    path = write(f"{PROJECTS}/b.jsonl", said_in(home / "strange"))(home)
    assert called("one", "Stop", transcript_path=path) == ""
    path = write(f"{PROJECTS}/c.jsonl", said_in(home / "one").replace("okapi", "tapir"))(home)
    assert called("strange", "Stop", transcript_path=path) == ""
    wait_for(run, "tapir", own["one"])
    for database in own.values():
        assert "okapi" not in run("search", "okapi", "--json", "--db", database)
    report = run("connect", "--json")
    [claude] = [row for row in json.loads(report) if row["host"] == "claude"]
    assert claude["runs"]["counts"]["no-memory"] == 3  # of a prompt, a start and a session


def test_the_latest_refusals_of_a_database_are_kept(home: Path) -> None:
    for number in range(30):
        state.note_refusal("a.db", f"/{number}", "first")
    state.note_refusal("a.db", "/25", "again" + "!" * 10)
    state.note_refusal("b.db", "/" + "x" * 10_000, "long")
    kept = state.refusals("a.db")
    assert [each.named for each in kept[-3:]] == ["/28", "/29", "/25"]
    assert kept[-1].reason.startswith("again")
    assert len(kept) == state.REFUSALS_KEPT - 1
    assert [len(each.named) for each in state.refusals("b.db")] == [state.LONGEST_NAME]
    (Path(state.state_folder()) / state.REFUSED).write_text("{broken")
    assert state.refusals("a.db") == []


def test_transcripts_that_an_agent_deletes_keep_their_passages_without_a_word(home: Path) -> None:
    """Claude Code deletes sessions after 30 days."""
    (home / "work/memory").mkdir(parents=True)
    (home / "work/memory/a.md").write_text("# A\n\nA note.\n")
    command(home, "ingest", "--path", "work/memory")

    def session(name: str, animal: str, cwd: str) -> str:
        message = {"role": "user", "content": f"The door is painted by a {animal}."}
        record = {"type": "user", "sessionId": "a", "cwd": str(home / cwd), "message": message}
        return write(f"{PROJECTS}/{name}.jsonl", json.dumps(record) + "\n")(home)

    session("elsewhere", "secretary bird", "elsewhere")
    path = session("here", "okapi", "work")
    done = command(home, "recall", stdin=hook(path, "Stop") | {"cwd": str(home / "work")})
    assert (done.returncode, done.stdout) == (0, "")
    wait_until(lambda: json.loads(command(home, "stats", "--json").stdout)["doc_count"] == 2)
    for gone in (os.unlink, lambda path: shutil.rmtree(home / ".claude")):
        gone(path)
        done = command(home, "update", "--quiet")
        assert (done.returncode, done.stderr) == (0, "")
        found = command(home, "search", "painted door", "--refresh", "--json")
        assert (found.stderr, "okapi" in found.stdout) == ("", True)
        assert "secretary" not in found.stdout
    assert all(finding["ok"] is not False for finding in json.loads(command(home, "doctor").stdout))


def test_a_transcript_ingested_by_itself_outlives_its_file(home: Path) -> None:
    path = write("elsewhere/a.jsonl")(home)
    command(home, "ingest", "--path", path)
    os.unlink(path)
    done = command(home, "update", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "okapi" in command(home, "search", "okapi", "--json").stdout
