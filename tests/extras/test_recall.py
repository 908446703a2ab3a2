"""The command `recall`, as the hooks of agents call it, and what decides that it speaks."""

import io
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

import hybrid_memory
from hybrid_memory import HybridStore
from hybrid_memory.cli import main
from hybrid_memory.extras.evaluation.evaluation import read_qrels
from hybrid_memory.extras.formats.inserted import HEADING, words_of_user
from hybrid_memory.extras.recall import command, passages
from hybrid_memory.extras.recall.command import Deadline
from hybrid_memory.extras.recall.passages import printed, recalled
from hybrid_memory.extras.recall.prompts import (
    INFORMATIVE_WORDS,
    has_foreign_names,
    is_order,
    is_personal,
    read,
    unknown_code,
    work_among,
)
from hybrid_memory.extras.recall.runs import note_run, summary
from hybrid_memory.extras.recall.state import (
    RecallSession,
    answering,
    append,
    begun,
    note_begun,
    state_folder,
)
from hybrid_memory.search.request import Request
from hybrid_memory.surface import opening as surface_opening
from hybrid_memory.surface.output import budget
from hybrid_memory.sync.ingest import Ingest
from tests.command import as_process, in_process
from tests.quality.recorded import FOLDER, ingest_notes

QUESTION = "What is the public address of the ferry host?"
# Nothing was tuned on the lists that were held out
CODING, HELD_OUT, WORLD, WORLD_HELD_OUT = (
    (FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    for name in ("coding", "coding-held-out", "world", "world-held-out")
)
VAULT = FOLDER.parent / "vault"
LOG = "\n".join(f"12:00:{n % 60:02} INFO worker {n} finished step {n * 7919}" for n in range(450))

Recall = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recall") / "notes.db"
    with HybridStore(path, {"provider": "builtin"}) as store:
        ingest_notes(store)
    return path


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recall") / "vault.db"
    with HybridStore(path, {"provider": "builtin"}) as store:
        Ingest(store).run([str(VAULT)])
    return path


@pytest.fixture
def environ(notes: Path, tmp_path: Path) -> dict[str, str]:
    """Variables with which the command uses a copy of the notes."""
    database = tmp_path / "notes.db"
    shutil.copy(notes, database)
    others = {name: value for name, value in os.environ.items() if name[:6] != "HYBRID"}
    return others | {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "HYBRID_MEMORY_DB_PATH": str(database),
        "HYBRID_MEMORY_PROVIDER": "builtin",
    }


@pytest.fixture
def recall(environ: dict[str, str], tmp_path: Path) -> Recall:
    """Run the command in this process, with all the time it needs."""

    def run(*args: str, stdin: str | dict[str, Any] = "") -> subprocess.CompletedProcess[str]:
        with patch.object(sys, "stdin", stream_of(stdin)):
            return in_process(("recall", *args, "--timeout", "0"), environ, tmp_path)

    return run


@pytest.fixture
def recall_process(environ: dict[str, str], tmp_path: Path) -> Recall:
    """Run the command as a host does: what reaches a limit ends its process, and an ingest outlives it."""

    def run(*args: str, stdin: str | dict[str, Any] = "") -> subprocess.CompletedProcess[str]:
        return as_process(("recall", *args), environ, tmp_path, input=text_of(stdin))

    return run


def text_of(stdin: str | dict[str, Any]) -> str:
    return stdin if isinstance(stdin, str) else json.dumps(stdin)


def stream_of(stdin: str | dict[str, Any]) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text_of(stdin).encode()))


def hook(event: str = "UserPromptSubmit", session: str = "one", **fields: str) -> dict[str, Any]:
    """What Claude Code and Codex put on standard input, with fields of their own that do not matter."""
    common = {
        "session_id": session,
        "transcript_path": "/nowhere.jsonl",
        "cwd": "/",
        "permission_mode": "default",
    }
    return common | {"hook_event_name": event} | fields


def test_prints_passages_under_one_line_that_says_what_they_are(recall: Recall) -> None:
    done = recall(QUESTION)
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert first == HEADING
    assert rest[0].startswith("**notes/hosts/ferry.md#L")
    assert "203.0.113.58" in done.stdout
    assert len(done.stdout) <= 1200


@pytest.mark.parametrize(
    "stdin",
    [
        QUESTION,
        hook(prompt=QUESTION),
        "{host: ferry} " + QUESTION,  # begins as JSON does
        f"<system-reminder>The tide gauge was moved.</system-reminder>\n\n{QUESTION}",
    ],
)
def test_reads_a_prompt_from_standard_input(recall: Recall, stdin: str | dict[str, Any]) -> None:
    assert "203.0.113.58" in recall(stdin=stdin).stdout


@pytest.mark.parametrize(
    "stdin",
    [
        "",
        "ferry?",
        "/compact the address of the ferry host",
        f"<task-notification>\n<summary>{QUESTION}</summary>\n</task-notification>",
        hook(),
        hook("PostToolUse", prompt=QUESTION),
        '{"hook_event_name": 7, "prompt": 8}',
    ],
)
def test_is_silent(recall: Recall, stdin: str | dict[str, Any]) -> None:
    done = recall(stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "options",
    [("--db", "nowhere.db"), ("--since", "soon")],
)
def test_a_failure_is_silence(recall: Recall, options: tuple[str, str]) -> None:
    done = recall(QUESTION, *options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert recall(QUESTION, *options, "--explain").stderr


def test_the_time_limit_counts_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(os, "_exit", lambda status: ended.set())
    late = []
    Deadline(60, 0.05, lambda: late.append("real time"))
    assert ended.wait(30)
    ended.clear()
    Deadline(0.05, 60, lambda: late.append("CPU time"))
    while not ended.is_set():  # use CPU time
        pass
    assert late == ["real time", "CPU time"]
    Deadline(0.05, 0.05, lambda: late.append("after the answer")).met()
    time.sleep(0.2)
    assert len(late) == 2


@pytest.mark.parametrize(
    ("reading", "opening", "wait"),
    [(0.0, 1.2, 0.4), (0.0, 2.5, 0.0), (9.0, 0.0, 1.0)],
)
def test_a_query_waits_for_half_of_the_time_that_is_left_after_the_prompt_was_read(
    monkeypatch: pytest.MonkeyPatch, reading: float, opening: float, wait: float
) -> None:
    now = 100.0  # a clock that only a host and the opening of the memory move
    clock = SimpleNamespace(
        monotonic=lambda: now, process_time=lambda: 0.0, sleep=lambda seconds: forever.wait()
    )
    forever = threading.Event()
    waits: list[float] = []

    def read_prompt() -> bytes:
        nonlocal now
        now += reading
        return QUESTION.encode()

    @contextmanager
    def open_store(args: Namespace) -> Iterator[Any]:
        nonlocal now
        now += opening
        yield SimpleNamespace(limit_queries=waits.append)

    monkeypatch.setattr(command, "time", clock)
    monkeypatch.setattr(surface_opening, "open_store", open_store)
    monkeypatch.setattr(passages, "recalled", lambda *args, **options: [])
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=read_prompt)))
    assert main(["recall"]) == 0
    assert waits == [pytest.approx(wait)]


def test_runs_of_a_host_are_logged(recall: Recall, recall_process: Recall, tmp_path: Path) -> None:
    recall(QUESTION, "--host", "claude")
    recall("Rename the variable and run the tests", "--host", "claude")
    recall(QUESTION, "--host", "claude", "--db", "nowhere.db")
    late = recall_process(
        QUESTION, "--host", "claude", "--timeout", "0.0011", "--explain", "--quiet"
    )
    assert (late.returncode, late.stdout) == (0, "")
    # Two threads write: other explanations may come before it, after it, or on its line
    assert "hybrid-memory: no answer within 0.0011 s (--timeout)\n" in late.stderr
    recall(QUESTION)
    log = (tmp_path / "state/hybrid-memory/recall/runs-claude").read_text().splitlines()
    assert [line.split()[1] for line in log] == ["answered", "silent", "failed", "late"]
    assert "ferry" not in "".join(log)


def test_runs_that_an_earlier_version_logged_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    append(os.path.join(state_folder(), "runs-claude"), f"{time.time():.0f} prompt silent\n")
    note_run("claude", "answered")
    assert summary("claude")["counts"] == {"silent": 1, "answered": 1}


def test_says_that_a_passage_does_not_fit_if_it_is_asked_why(recall: Recall) -> None:
    done = recall(QUESTION, "--budget", "100", "--explain")
    assert (done.returncode, done.stdout) == (0, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("hybrid-memory: the budget is too small for the best result, ")


def test_does_not_wait_for_standard_input_longer_than_it_may(tmp_path: Path) -> None:
    code = (
        "from hybrid_memory.cli import entry_point; from hybrid_memory.extras.recall import command; "
        "command.READING_SECONDS = 0.5; entry_point()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, "recall"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.wait(60) == 0
        assert process.stdout
        assert process.stdout.read() == b""


def test_recalls_nothing_twice_in_a_session(recall: Recall) -> None:
    first = recall(stdin=hook(prompt=QUESTION)).stdout
    again = recall(stdin=hook(prompt=QUESTION)).stdout
    cited = {line.split("**")[1] for line in first.splitlines() if line.startswith("**")}
    assert cited
    assert not any(line.strip("*").startswith(tuple(cited)) for line in again.splitlines())
    assert recall(stdin=hook(session="two", prompt=QUESTION)).stdout == first
    assert "203.0.113.58" not in recall(QUESTION, "--session", "one").stdout
    recall(stdin=hook("SessionStart", source="compact"))
    assert recall(stdin=hook(prompt=QUESTION)).stdout == first


def test_what_is_left_must_bear_on_the_prompt_itself(recall: Recall) -> None:
    """What was shown says nothing of the passages after it."""
    recall(stdin=hook(prompt=QUESTION))
    explained = [recall("--explain", stdin=hook(prompt=QUESTION)).stderr for _ in range(3)]
    assert "were shown before" in explained[-1]
    answer = recall(stdin=hook(prompt=QUESTION)).stdout
    assert answer.startswith(f"{HEADING}\n**Note:** shown before in this session: ")
    assert len(answer.splitlines()) == 2
    assert recall(stdin=hook(prompt="Convert the image to webp?")).stdout == ""


def test_a_session_is_not_told_what_it_said_itself_until_a_compaction(
    recall: Recall, environ: dict[str, str], tmp_path: Path
) -> None:
    transcript = tmp_path / "logs" / "of-today.jsonl"
    transcript.parent.mkdir()

    def says(text: str) -> None:
        line = {"type": "user", "message": {"role": "user", "content": text}, "sessionId": "one"}
        with transcript.open("a") as file:
            file.write(json.dumps(line | {"uuid": "u", "timestamp": "2026-11-01T10:00:00Z"}) + "\n")
        done = in_process(("ingest", "--path", str(transcript), "--quiet"), environ, tmp_path)
        assert done.returncode == 0, done.stderr

    def prompt(about: str, session: str = "one") -> str:
        given = {"session": session, "prompt": about, "transcript_path": str(transcript)}
        if session != "one":
            given["transcript_path"] = str(tmp_path / "another.jsonl")
        return recall(stdin=hook(**given)).stdout

    says("Quentin's dentist moved to Marzipan Lane 7.")
    assert "Marzipan" in prompt("Where is Quentin's dentist?", "two")
    assert "Marzipan" not in prompt("Where is Quentin's dentist?")
    recall(stdin=hook("SessionStart", source="compact", transcript_path=str(transcript)))
    assert "Marzipan" in prompt("Where is Quentin's dentist?")
    says("Rosalind's barber closes on Thimble Street.")
    assert "Thimble" not in prompt("Where is Rosalind's barber?")


def test_the_files_of_sessions_are_private_and_go_after_a_week(
    recall: Recall, tmp_path: Path
) -> None:
    folder = tmp_path / "state/hybrid-memory/recall"
    recall(stdin=hook(session="old/../id", prompt=QUESTION, transcript_path="/old.jsonl"))
    old = set(folder.iterdir())
    assert {path.name.partition("-")[0] for path in old} == {"session", "turn"}
    for path in old:
        assert path.stat().st_mode & 0o777 == 0o600
        os.utime(path, (time.time() - 8 * 86400,) * 2)
    recall(stdin=hook(session="new", prompt=QUESTION, transcript_path="/new.jsonl"))
    assert len(set(folder.iterdir())) == 2
    assert not old & set(folder.iterdir())


def test_filters_bound_what_is_recalled(recall: Recall) -> None:
    assert "203.0.113.58" not in recall(QUESTION, "--in", "notes/people/*").stdout


@pytest.mark.parametrize(
    ("time", "is_named"),
    [("on 2026-03-04", False), ("on 03/04/2026", True)],
)
def test_a_time_that_is_not_understood_is_named_above_the_passages(
    recall: Recall, time: str, is_named: bool
) -> None:
    prompt = f"{QUESTION.removesuffix('?')} {time}?"
    answer = recall(prompt, "--budget", "700").stdout
    heading, first, *_ = answer.splitlines()
    assert heading == HEADING
    assert ("was not understood" in first) == is_named
    assert "203.0.113.58" in answer
    assert len(answer.rstrip()) <= 700
    assert words_of_user(f"{answer}\n{prompt}").strip() == prompt


def test_a_time_in_a_pasted_log_is_not_named(recall: Recall) -> None:
    log = "\n".join(f"03/04/2026 {line}" for line in LOG.splitlines())
    answer = recall(stdin=f"{QUESTION} 03/04/2026\n{log}").stdout
    assert "203.0.113.58" in answer
    assert "was not understood" not in answer


def test_the_telling_words_of_a_long_prompt_are_searched_for(recall: Recall) -> None:
    prompt = f"Why does the ferry host not answer at its public address?\n{LOG}"
    assert len(prompt) > 15_000
    done = recall("--explain", stdin=prompt)
    [query] = [line for line in done.stderr.splitlines() if "searched for" in line]
    assert len(query.partition("searched for: ")[2].split()) <= INFORMATIVE_WORDS
    assert "ferry" in query


def test_the_question_may_stand_after_what_was_pasted(notes: Path) -> None:
    with HybridStore(notes, {"provider": "builtin"}) as store:
        reading = read(f"{LOG}\nWhy does the ferry not answer at its public address?", store)
    assert "ferry" in reading.query


def test_a_start_names_the_notes_that_are_new(recall: Recall, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    memory.mkdir()
    transcript = transcript_in(tmp_path)
    with HybridStore(tmp_path / "notes.db", {"provider": "builtin"}) as store:
        Ingest(store, incremental=True).run([str(memory)])
        Ingest(store, patterns=["*.jsonl"]).run([str(transcript.parent)])
    start = hook("SessionStart", source="startup")
    assert recall(stdin=start).stdout == ""
    assert recall(stdin=start).stdout == ""
    with transcript.open("a") as file:  # a session is no note
        file.write(json.dumps(SAID) + "\n")
    (tmp_path / ".claude/projects/-x/another.jsonl").write_text(json.dumps(SAID) + "\n")
    assert recall(stdin=start).stdout == ""
    (memory / "2026-03-01.md").write_text("# Sunday\n\nThe boat was painted blue.\n")
    (memory / "untitled.md").write_text("The boat was painted green.\n")
    [line] = recall(stdin=start).stdout.splitlines()
    assert line.startswith("New in the user's notes since 20")
    assert "Sunday" in line
    assert "untitled.md" in line
    assert "jsonl" not in line
    assert recall(stdin=start).stdout == ""


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.unlink(), "no database at"),
        (lambda path: path.write_bytes(path.read_bytes()[:5000]), "malformed"),
        (lambda path: (path.unlink(), HybridStore(path).close()), "the memory is empty"),
    ],
    ids=["missing", "cut", "empty"],
)
def test_a_start_names_a_memory_that_cannot_answer(
    recall: Recall, tmp_path: Path, damage: Callable[[Path], Any], told: str
) -> None:
    damage(tmp_path / "notes.db")
    for source in ("startup", "compact"):
        done = recall("--host", "claude", stdin=hook("SessionStart", source=source))
        assert (done.returncode, done.stderr) == (0, "")
        assert (told in done.stdout) == (source == "startup"), done.stdout
        assert len(done.stdout.splitlines()) == (source == "startup")
    assert recall(stdin=hook(prompt=QUESTION)).stdout == ""


SAID = {
    "type": "user",
    "timestamp": "2026-03-01T10:00:00Z",
    "message": {"role": "user", "content": "The blue okapi door is locked at nine."},
}


def transcript_in(home: Path) -> Path:
    transcript = home / ".claude/projects/-x/of-today.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text(json.dumps(SAID) + "\n")
    return transcript


def test_what_is_said_later_is_taken_in_too_however_little_it_is(
    recall_process: Recall, tmp_path: Path
) -> None:
    transcript = transcript_in(tmp_path)
    for word in ("okapi", "harbour"):
        with transcript.open("a") as file:
            file.write(json.dumps(SAID).replace("okapi", word) + "\n")
        done = recall_process(stdin=hook("Stop", transcript_path=str(transcript)))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert _is_found(tmp_path / "notes.db", word)


def test_a_transcript_is_taken_in_although_the_agent_ends_its_hooks(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """`claude -p` exits when it has answered, and ends the processes of its hooks."""
    transcript = transcript_in(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-m", "hybrid_memory", "recall", "--host", "claude"],
        stdin=subprocess.PIPE,
        env=environ,
        start_new_session=True,
    ) as process:
        process.communicate(json.dumps(hook("Stop", transcript_path=str(transcript))).encode())
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert _is_found(tmp_path / "notes.db", "okapi")


def test_a_session_whose_ingest_was_killed_is_taken_in_at_the_next_start(
    recall_process: Recall,
    environ: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transcript = transcript_in(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    note_begun(str(tmp_path), str(transcript))
    told = in_process(("doctor",), environ, tmp_path).stdout
    assert "the ingest of 1 session was interrupted" in told
    recall_process("--host", "claude", stdin=hook("SessionStart", source="startup"))
    assert _is_found(tmp_path / "notes.db", "okapi")
    ended = time.monotonic() + 60
    while begun():
        assert time.monotonic() < ended
        time.sleep(0.1)


def test_a_session_is_being_answered_from_its_prompt_to_the_end(
    recall: Recall, recall_process: Recall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    transcript = str(transcript_in(tmp_path))
    for named in (transcript, 5, ["/etc/passwd"]):
        recall(stdin=hook(prompt="yes, do it") | {"transcript_path": named})
    assert transcript in [session.transcript for session in answering()]
    for event in ("SessionStart", "Stop"):
        recall_process(stdin=hook(event, transcript_path=transcript))
        is_answered = transcript not in [session.transcript for session in answering()]
        assert is_answered == (event == "Stop")


def _is_found(database: Path, word: str) -> bool:
    ended = time.monotonic() + 60
    while time.monotonic() < ended:
        with HybridStore(database, {"provider": "builtin"}) as store:
            hits = store.search(word, mode="keyword")
        if any("of-today" in hit["doc_id"] for hit in hits):
            return True
        time.sleep(0.2)
    return False


def spoken(path: Path, prompts: Sequence[str]) -> list[str]:
    """The prompts for which passages are printed."""
    with HybridStore(path, {"provider": "builtin"}) as store:
        return [prompt for prompt in prompts if recalled(store, prompt, RecallSession(""))]


def test_silent_on_95_of_100_prompts_about_the_code_at_hand(notes: Path, vault: Path) -> None:
    """Nothing was tuned on the second list or the vault."""
    assert (len(CODING) > 100, len(HELD_OUT)) == (True, 120)
    assert len(spoken(notes, CODING)) <= 0.05 * len(CODING)
    held_out = spoken(notes, HELD_OUT) + spoken(vault, HELD_OUT)
    assert len(held_out) <= 0.05 * 2 * len(HELD_OUT), held_out


def test_silent_on_95_of_100_prompts_with_pasted_code(notes: Path) -> None:
    """Which code is pasted after which prompt is a sample, and another one with each new module: two
    standard deviations are allowed. Nine pairings of the 181 prompts had 4.3 % together.
    """
    modules = sorted(Path(hybrid_memory.__file__).parent.rglob("*.py"))
    codes = [path.read_text("utf-8")[-3000:] for path in modules if path.stat().st_size > 3000]
    prompts = [f"{ask}\n{code}" for ask, code in zip(CODING, codes, strict=False)]
    count = len(prompts)
    assert count > 90
    assert len(spoken(notes, prompts)) <= 0.05 * count + 2 * math.sqrt(0.05 * 0.95 * count)


def test_finds_what_a_search_under_the_same_budget_finds(notes: Path) -> None:
    """The heading takes 46 of 1,200 characters, and the floor keeps back some vague questions."""
    qrels = read_qrels(str(FOLDER / "qrels.tsv"))
    lines = (FOLDER / "queries.jsonl").read_text().splitlines()
    queries = [json.loads(line) for line in lines[::2]]

    def has_evidence(query: dict[str, Any], results: list[dict[str, Any]]) -> bool:
        if "passage" in query:
            return any(query["passage"] in " ".join(result["text"].split()) for result in results)
        return any(result["doc_id"].endswith(tuple(qrels[query["id"]])) for result in results)

    with HybridStore(notes, {"provider": "builtin"}) as store:
        by_search = by_recall = without_floor = 0
        for query in queries:
            text = query["text"]
            of_search = budget(1200, "md", text)
            request = Request(limit=of_search.pool, budget=of_search)
            by_search += has_evidence(query, store.answer(text, request).results)
            passages = recalled(store, text, RecallSession(""))
            assert len(HEADING) + 1 + len(printed(passages)) <= 1200
            by_recall += has_evidence(query, passages)
            without_floor += has_evidence(query, recalled(store, text, RecallSession(""), floor=0))
    assert without_floor >= 0.9 * by_search
    assert by_recall >= 0.7 * by_search


def test_silent_on_most_questions_about_the_world(notes: Path, vault: Path) -> None:
    """Of 40 prompts, at most so many are answered; nothing was tuned on the second list or the vault."""
    for path, prompts, most in (
        (notes, WORLD, 4),
        (notes, WORLD_HELD_OUT, 6),
        (vault, WORLD, 4),
        (vault, WORLD_HELD_OUT, 4),
    ):
        assert len(prompts) == 40
        assert len(spoken(path, prompts)) <= most


def test_a_question_in_other_words_than_the_notes_is_answered_as_by_a_search(vault: Path) -> None:
    """Questions that nothing was tuned on; for 34 of 40, a search under this budget has the passage."""
    by_search = by_recall = 0
    with HybridStore(vault, {"provider": "builtin"}) as store:
        for line in (FOLDER / "vault.tsv").read_text("utf-8").splitlines():
            question, note, words = line.split("\t")

            def is_right(result: dict[str, Any], note: str = note, words: str = words) -> bool:
                text = " ".join(result["text"].split())
                return result["doc_id"].endswith(note) and words.lower() in text.lower()

            request = Request(limit=60, budget=budget(1200, "md", question))
            by_search += any(map(is_right, store.answer(question, request).results))
            by_recall += any(map(is_right, recalled(store, question, RecallSession(""))))
    assert by_search >= 32
    assert by_recall >= 0.8 * by_search


COUNTS = {  # of chunks with each word
    "Peru": 0, "Miles": 2, "Davis": 0, "Ferry": 9, "Quito": 0, "Atlas": 3, "January": 0,
    "parse": 1, "duration": 0, "userList": 0, "active": 0, "users": 2, "list": 3, "ts": 1, "ferry": 4, "log": 2,
}  # fmt: skip


def foreign(prompt: str) -> bool:
    return has_foreign_names(prompt, COUNTS)


def personal(prompt: str) -> bool:
    return is_personal(prompt, work_among(prompt.split()))


def code(prompt: str) -> int:
    return unknown_code(prompt, COUNTS)


@pytest.mark.parametrize(
    ("feature", "prompt", "expected"),
    [
        (foreign, "What is the capital of Peru?", True),
        (foreign, "Which instrument did Miles Davis play?", True),
        (foreign, "did Ferry or Quito answer Atlas?", False),
        (foreign, "why was ferry down in January?", False),
        (foreign, "Where is it? Now I have to know", False),
        (personal, "Who fixed our boiler?", True),
        (personal, "Is HER dog ill?", True),
        (personal, "who is the hero?", False),
        (personal, "why is my loop endless", False),
        (personal, "why does she say my loop is endless", True),
        (is_order, "Rename this variable", True),
        (is_order, "could you please fix the spinner", True),
        (is_order, "Yes, please", True),
        (is_order, "Who looks after my teeth?", False),
        (is_order, "\u6210\u90fd\u7684\u9152\u5e97\u5728\u54ea\u91cc\uff1f", False),
        (code, "Why does parse_duration() fail?", 1),
        (code, "Rename userList to `active users` in list.ts", 2),
        (code, "Where is ferry_log written?", 0),
    ],
)
def test_features_of_a_prompt(feature: Callable[[str], int], prompt: str, expected: int) -> None:
    assert feature(prompt) == expected


def test_operators_are_words_of_a_prompt(notes: Path) -> None:
    with HybridStore(notes, {"provider": "builtin"}) as store:
        assert {"ferry", "plan"} <= set(read(f"{LOG}\nferry tag:plan", store).query.split())


def test_names_of_faults_are_words_of_work(notes: Path) -> None:
    with HybridStore(notes, {"provider": "builtin"}) as store:
        assert read("KeyError NullPointerException", store).work == 1
        assert read("the address of the ferry", store).work == 0
