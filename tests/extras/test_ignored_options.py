"""Every option of every command changes what the command prints or does, or is refused."""

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.registry import COMMANDS
from hybrid_memory.surface.arguments import command_parser, common_parser
from tests.command import NO_SERVER, Run, in_process, in_terminal
from tests.extras.serve.test_options import CASES, NOTES, QUERY
from tests.extras.surfaces import EVERY_OPTION, flags

OLD = "notes/boiler-old.md"
# The words after a command without the option
PLAIN: dict[str, tuple[str, ...]] = {
    "search": (QUERY,),
    "get": ("long",),
    "why": ("notes/heron.md", "ssh", "port"),
    "links": ("heron",),
    "init": ("NOTES",),
    "ingest": ("NOTES",),
    "store": ("--doc-id", "decisions/ssh", "--text", "The port was closed."),
    "note": ("The lift is out of order.",),
    "delete": ("decisions/ssh",),
    "copy": ("DB", "COPY"),
    "eval": ("--queries", "QUERIES", "--qrels", "QRELS"),
    "recall": ("which", "ssh", "port", "has", "heron?", "--timeout=0"),
    "connect": ("claude",),
    "disconnect": ("cursor",),
}
Case = tuple[tuple[str, ...], tuple[str, ...]]
# The words after a command that a case needs, and those with the option
PROBES: dict[str, dict[str, Case]] = {
    "search": {
        "--query": (("ssh",), ("--query=port",)),
        "--rerank": ((QUERY,), (QUERY, "--rerank", "tei")),
        "--refresh": ((QUERY,), (QUERY, "--refresh")),
        "--no-refresh": ((QUERY, "--refresh"), (QUERY, "--refresh", "--no-refresh")),
        "--format": ((QUERY,), (QUERY, "--format", "paths")),
        "--open": ((QUERY,), (QUERY, "--open=2")),
        "--full": ((QUERY,), (QUERY, "--full")),
    },
    "get": {
        "--max-lines": (("long",), ("long", "--max-lines", "1")),
        "--max-chars": (("long",), ("long", "--max-chars", "9")),
    },
    "why": {"--also": (("heron", "port"), ("heron", "port", "--also", "soup and bread"))},
    "list": {"--sort": ((), ("--sort", "modified")), "--limit": ((), ("--limit", "1"))},
    "links": {"--broken": (("heron",), ("--broken",))},
    "tags": {"--limit": ((), ("--limit", "1"))},
    "init": {
        "--yes": (("OTHER",), ("OTHER", "--yes")),
        "--sessions": (("NOTES", "--yes"), ("NOTES", "--yes", "--sessions")),
    },
    "ingest": {
        "--path": (("NOTES",), ("--path", "OTHER")),
        "--collection": (("OTHER",), ("OTHER", "--collection", "x")),
        "--pattern": (("NOTES",), ("NOTES", "--pattern", "*.txt")),
        "--exclude": (("NOTES",), ("NOTES", "--exclude", "heron.md")),
        "--incremental": (("NOTES",), ("NOTES", "--incremental")),
        "--all": (
            ("SESSIONS", "--pattern=*.jsonl", "--incremental"),
            ("SESSIONS", "--pattern=*.jsonl", "--incremental", "--all"),
        ),
        "--follow-symlinks": (("OTHER",), ("OTHER", "--follow-symlinks")),
        "--keep-missing": (("NOTES",), ("NOTES", "--keep-missing")),
        "--no-ignore": (("OTHER",), ("OTHER", "--no-ignore")),
    },
    "update": {"--all": ((), ("--all",))},
    "store": {
        "--doc-id": (PLAIN["store"], ("--doc-id", "other", *PLAIN["store"][2:])),
        "--text": (PLAIN["store"], (*PLAIN["store"][:3], "Open again.")),
        "--file": (PLAIN["store"], (*PLAIN["store"][:2], "--file", "OTHER/new.md")),
        "--metadata": (PLAIN["store"], (*PLAIN["store"], "--metadata", "owner=ben")),
        "--append": (PLAIN["store"], (*PLAIN["store"], "--append")),
        "--replaces": (PLAIN["store"], (*PLAIN["store"], "--replaces", OLD)),
    },
    "note": {
        "--dir": (("out of order",), ("out of order", "--dir", "OTHER")),
        "--replaces": (
            ("The port is 2022.", "--dir", "OTHER"),
            ("The port is 2022.", "--dir", "OTHER", "--replaces", "notes/2026-03-09.md#L3"),
        ),
    },
    "delete": {
        "--doc-id": (("decisions/ssh",), ("--doc-id", "other")),
        "--collection": (("decisions/ssh",), ("--collection", "notes")),
        "--path": (("decisions/ssh",), ("--path", "NOTES")),
    },
    "stats": {"--all": ((), ("--all",))},
    "doctor": {"--thorough": ((), ("--thorough",))},
    "reindex": {"--embeddings": ((), ("--embeddings",))},
    "copy": {"--texts": (("DB", "COPY"), ("DB", "COPY", "--texts"))},
    "eval": {
        "--queries": (PLAIN["eval"], ("--queries", "QRELS", *PLAIN["eval"][2:])),
        "--qrels": (PLAIN["eval"], (*PLAIN["eval"][:3], "QUERIES")),
        "--modes": (PLAIN["eval"], (*PLAIN["eval"], "--modes", "keyword")),
        "--misses": (PLAIN["eval"], (*PLAIN["eval"], "--misses")),
    },
    "recall": {
        "--session": (PLAIN["recall"], (*PLAIN["recall"], "--session", "seen")),
        "--budget": (PLAIN["recall"], (*PLAIN["recall"], "--budget", "200")),
        "--floor": (PLAIN["recall"], (*PLAIN["recall"], "--floor", "1")),
        "--min-confidence": (PLAIN["recall"], (*PLAIN["recall"], "--min-confidence", "1")),
        "--host": (PLAIN["recall"], (*PLAIN["recall"], "--host", "cursor")),
        "--explain": (PLAIN["recall"], (*PLAIN["recall"], "--explain")),
    },
    "connect": {
        "--dir": (("claude",), ("claude", "--dir", "OTHER")),
        "--yes": (("claude",), ("claude", "--yes")),
    },
    "disconnect": {
        "--dir": (("cursor",), ("cursor", "--dir", "OTHER")),
        "--yes": (("cursor",), ("cursor", "--yes")),
    },
    "tools": {
        "--format": ((), ("--format", "anthropic")),
        "--read-only": ((), ("--read-only",)),
    },
}
# Options of every command, with one that they are for
COMMON: dict[str, tuple[str, Case]] = {
    "--db": ("stats", ((), ("--db", "COPY"))),
    "--space": ("stats", ((), ("--space", "other"))),
    "--config": ("search", ((QUERY,), (QUERY, "--config", "CONFIG"))),
    "--provider": ("doctor", ((), ("--provider", "none"))),
    "--ollama-url": (
        "doctor",
        (("--provider", "ollama"), ("--provider", "ollama", "--ollama-url", "http://127.0.0.1:8")),
    ),
    "--model": (
        "doctor",
        (("--provider", "ollama"), ("--provider", "ollama", "--model", "bge-m3")),
    ),
    "--chunk-size": ("ingest", (("NOTES",), ("NOTES", "--chunk-size", "300"))),
    "--overlap": (
        "ingest",
        (("NOTES", "--chunk-size", "300"), ("NOTES", "--chunk-size", "300", "--overlap", "200")),
    ),
    "--keyword-weight": ("search", ((QUERY,), (QUERY, "--keyword-weight", "0.9"))),
    "--vector-weight": ("search", ((QUERY,), (QUERY, "--vector-weight", "0.9"))),
    "--color": (
        "search",
        ((QUERY, "--format", "text"), (QUERY, "--format", "text", "--color=never")),
    ),
    "--quiet": ("search", (("soup heron zebra",), ("soup heron zebra", "--quiet"))),
}
IF_NONE_IS_CHOSEN = "--workspace-only"  # here, a variable chooses a memory; test_plugins.py
# These commands run until they are stopped, and a limit of time does not change a quick answer
ELSEWHERE = {
    ("watch", "--path"),  # test_watch.py
    *(("mcp", flag) for flag in ("--collection", "--in", "--read-only")),  # test_bounds.py
    *(("serve", flag) for flag in ("--collection", "--in", "--read-only")),
    *(("serve", flag) for flag in ("--host", "--port", "--token")),  # serve/test_process.py
    *(("serve", flag) for flag in ("--open", "--watch")),
    ("recall", "--timeout"),  # test_recall.py
}
IN_SEARCH = {f"--{name.replace('_', '-')}" for name in EVERY_OPTION}  # test_options.py
# What differs between two runs: times, and lines of progress on a terminal
VARYING = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+(?= ms)|_ms\": [\d.]+|[\d.]+ s\b|\s+\d+\.\d(?=\s)|\r[^\r\n]*\x1b\[K"
)

TIME = re.compile(
    r"\b\d\d:\d\d\b"
)  # before the line of a note, which a minute later is another one


def flags_of(command: str) -> set[str]:
    return {*command_parser(command).flags()} - {*common_parser().flags(), "--help"}


def cases() -> Iterator[Any]:
    for command in COMMANDS:
        for flag in sorted(flags_of(command)):
            name = flag.removeprefix("--").replace("-", "_")
            plain = PLAIN.get(command, ())
            if flag in PROBES.get(command, {}):
                case = PROBES[command][flag]
            elif flag == "--json":
                case = plain, (*plain, flag)
            elif command in ("list", "recall") and name in CASES:
                given = flags(EVERY_OPTION[name], CASES[name][0])
                case = plain, (*plain, *given)
            else:
                continue
            yield pytest.param(command, flag, case, id=f"{command} {flag}")
    for flag, (command, case) in COMMON.items():
        yield pytest.param(command, flag, case, id=f"{command} {flag}")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A home with notes that were ingested and then changed, a folder that was not, a database, and
    the variables to use them.
    """
    home = tmp_path_factory.mktemp("ignored") / "home"
    notes, other = home / "notes", home / "other"
    for folder in (notes, other, home / ".claude" / "projects" / "-x", home / ".cursor"):
        folder.mkdir(parents=True)
    for name, text in NOTES.items():
        (notes / name).write_text(text)
    (notes / "door.md").write_text("---\ntags: [door]\n---\nThe door is green.\n")
    os.utime(notes / "heron.md", (1.5e9, 1.5e9))
    sessions = home / "sessions"
    sessions.mkdir()
    turn = {"type": "user", "message": {"role": "user", "content": "Where is the old crane?"}}
    (sessions / "y.jsonl").write_text(json.dumps(turn) + "\n")
    env = {
        "PATH": os.environ["PATH"],
        "HYBRID_MEMORY_CONFIG": str(home / "empty.json"),
        "HYBRID_MEMORY_OLLAMA_URL": NO_SERVER,
        "HOME": str(home),
        "XDG_STATE_HOME": str(home / "state"),
        "HYBRID_MEMORY_DB_PATH": str(home / "cli.db"),
        "HYBRID_MEMORY_PROVIDER": "builtin",
        "EDITOR": str(home / "editor"),
    }
    (home / "empty.json").write_text("{}")
    (home / "editor").write_text('#!/bin/sh\necho "$@" >> "$HOME/opened"\n')
    (home / "editor").chmod(0o755)
    text = "The ssh port of heron was decided in the kitchen."
    for args in (
        ("ingest", str(notes)),
        ("ingest", str(sessions), "--pattern", "*.jsonl"),
        ("store", "--doc-id", "decisions/ssh", "--text", text),
        ("connect", "cursor", "--yes"),
        ("recall", *PLAIN["recall"], "--session", "seen"),
    ):
        assert in_process(args, env, home).returncode == 0, args
    with (sessions / "y.jsonl").open("a") as file:
        file.write(json.dumps(turn) + "\n")
    (notes / "2026-03-09.md").write_text(
        "# Hosts\n\nThe ssh port of heron is 2022, see [[osprey]].\n"
    )
    (notes / "lunch.md").unlink()
    long = notes / "long.md"
    stat = long.stat()
    long.write_text(long.read_text().replace("canoe", "kayak"))
    os.utime(long, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    (notes / "port.txt").write_text("A port is a door.")
    (other / "new.md").write_text("# New\n\nThe crane is new.\n")
    (other / "drafts.md").write_text("# Drafts\n\nThe crane is a draft.\n")
    (other / ".gitignore").write_text("drafts.md\n")
    (other / "memory").mkdir()
    (other / "linked").symlink_to(notes)
    entry = {"type": "user", "message": {"role": "user", "content": "Where is the crane?"}}
    session = {"cwd": str(notes), "sessionId": "x", "timestamp": "2026-01-05T10:00:00Z"}
    transcript = home / ".claude" / "projects" / str(notes).replace("/", "-")
    transcript.mkdir()
    (transcript / "x.jsonl").write_text(json.dumps(entry | session) + "\n")
    (home / "config.json").write_text('{"limit": 1}')
    (home / "queries").write_text('{"id": "1", "text": "ssh port"}\n{"id": "2", "text": "soup"}\n')
    (home / "qrels").write_text("1\tboiler-old.md\t1\n2\tlunch.md\t1\n")
    return env


def outcome(
    world: Mapping[str, str], command: str, given: tuple[str, ...], is_terminal: bool
) -> list[Any]:
    """What a command prints and does: its status, its output, and the files and documents after it."""
    home = Path(world["HOME"])
    saved = home.with_name("saved")
    if not saved.exists():
        shutil.copytree(home, saved, symlinks=True)
    shutil.rmtree(home)
    shutil.copytree(saved, home, symlinks=True)
    places = {
        name: str(home / name.lower())
        for name in ("NOTES", "OTHER", "SESSIONS", "QUERIES", "QRELS")
    }
    places |= {"DB": world["HYBRID_MEMORY_DB_PATH"], "CONFIG": str(home / "config.json")}
    places["COPY"] = str(home / "copy.db")
    args = (
        command,
        *(re.sub(r"[A-Z]{2,}(?=/|$)", lambda m: places.get(m[0], m[0]), word) for word in given),
    )
    if is_terminal:
        printed = [in_terminal(world, *args)]
    else:
        done = in_process(args, world, home)
        printed = [str(done.returncode), done.stdout, done.stderr]
    files = {
        str(path): TIME.sub("", path.read_text())
        for path in sorted(home.rglob("*"))
        if path.is_file() and ".db" not in path.name and "state" not in path.parts
    }
    with closing(sqlite3.connect(home / "cli.db")) as conn:
        documents = [
            TIME.sub("", repr(conn.execute(query).fetchall()))
            for query in (
                "select doc_id, collection, metadata, chunk_count from documents order by 1",
                "select chunk_id, content from chunks order by 1",
                "select * from folders order by path",
            )
        ]
    return [*(TIME.sub("", VARYING.sub("", text)) for text in printed), files, documents]


Outcomes = Callable[[str, tuple[str, ...], bool], list[Any]]
EVERY_CASE = list(cases())


def is_for_terminal(flag: str) -> bool:
    return flag in ("--json", "--color")


@pytest.fixture(scope="module")
def outcomes(world: dict[str, str]) -> Outcomes:
    """The outcome of each command, which runs once."""
    return cache(partial(outcome, world))


@pytest.mark.parametrize(("command", "flag", "case"), EVERY_CASE)
def test_no_option_of_a_command_is_accepted_and_ignored(
    outcomes: Outcomes, command: str, flag: str, case: Case
) -> None:
    before, after = (outcomes(command, given, is_for_terminal(flag)) for given in case)
    assert before != after


@pytest.mark.parametrize(
    ("command", "given", "is_terminal"),
    sorted(
        {
            (case.values[0], case.values[2][0], is_for_terminal(case.values[1]))
            for case in EVERY_CASE
        }
    ),
)
def test_a_command_that_is_repeated_does_the_same(
    world: dict[str, str],
    outcomes: Outcomes,
    command: str,
    given: tuple[str, ...],
    is_terminal: bool,
) -> None:
    assert outcome(world, command, given, is_terminal) == outcomes(command, given, is_terminal)


def test_every_option_of_every_command_has_a_case() -> None:
    known = {(case.values[0], case.values[1]) for case in cases()} | ELSEWHERE
    known |= {("search", flag) for flag in IN_SEARCH}
    every = {(command, flag) for command in COMMANDS for flag in flags_of(command)}
    common = {*common_parser().flags()} - {"--help"}
    assert every <= known
    assert COMMON.keys() | {IF_NONE_IS_CHOSEN} == common
    assert {(command, flag) for command, flags in PROBES.items() for flag in flags} <= every
    assert every >= ELSEWHERE


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (("why", "heron", "--also", "soup"), "--also needs QUERY"),
        (("connect", "--yes"), "--yes needs the name of an agent, or all"),
        (("search", QUERY, "--full", "--format", "md"), "--full contradicts --format md"),
        (("search", QUERY, "--full", "--format", "text"), "--full contradicts --format text"),
    ],
)
def test_an_option_without_what_it_is_for_is_refused(
    run: Run, args: tuple[str, ...], reason: str
) -> None:
    done = run(*args)
    assert (done.returncode, reason in done.stderr) == (2, True), done.stderr
