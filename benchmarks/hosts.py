"""Sessions in the programs of agents, with a scripted model: `uv run benchmarks/hosts.py`.

Installs this program and those of agents.toml (from npm) into --folder, connects each with
`hybrid-memory connect`, and runs --sessions sessions of three turns: the user states a fact, asks
about a note, and the model calls the memory tool. The home is an empty folder, with a workspace and
another project, which has the first memory.

version     of the program; else why it could not be installed
load        the memory tools are offered
own         the file of instructions or notes that the program reads by itself is in the prompt
recall      sessions in which the request for an answer has the passage of the note
title       no other request (for a title) has passages
foreign     nothing of the other project is in any request
stored      sessions in which the fact was stored
echo        no session has the question of the second turn, which the memory answered
elsewhere   the next agent of the list gets the fact in its prompt
mcp         the tool answers with the note
apart       sessions, in turn in the workspace, the other project and a folder without a memory, that
            get the note of their folder and none of another, in the prompt or from the tool
told        of these sessions, that begin with passages, or without a memory with one line that says so
disconnect  nothing is left in the files that `connect` named, and no transcript of ours
characters  that passages add to the request of the second turn, on average
late        runs of the hook that hit its time limit
failed      checks that failed

With --reconnect, each agent is instead connected and disconnected so often. In between it runs a session
or changes its settings by its own commands, which are `edits` of agents.toml.

kept        rounds after which the files that `connect` named are as in another home, where the agent
            does the same and is never connected, but for numbers, ids and times
twice       a second `connect`, after a change, changes nothing
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from common import ROOT, Row, run
from scripted_model import Call, Model, Request

HEADING = "From the user's notes"
NOTE = "The lighthouse at Skagen transmits on channel 73."
QUESTION = "On which channel does our lighthouse at Skagen transmit?"
FOREIGN = "The lighthouse at Skagen transmits on channel 19."
MISSING = "this folder has no memory"
LOOK = "Look it up with your memory tool: the keeper of the ferry ledger."
LOOKED_UP = "Who keeps the ferry ledger?"
KEEPER = "Juno Abara keeps the ferry ledger."
OWN = "Sign every letter with the word perimeter."
NODE = "node@26"  # OpenClaw needs it
FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}
# What hooks add to a request: lines with citations and quotations below a heading
PASSAGES = re.compile(rf"{HEADING}[^\n]*\n(?:(?:\*\*|>|&gt;)[^\n]*\n?|\n)*")
# What differs between two homes: numbers, ids, times
PASSING = re.compile(r"\d[\w.:-]*|\b[0-9a-f-]{16,}\b")
SESSION_EVERY = 5  # rounds
TURN_SECONDS = 180
STORING_SECONDS = 60


class Agent(NamedTuple):
    """A program. agents.toml describes the fields."""

    package: str
    command: list[str]
    own: str
    edits: Sequence[Sequence[str]]
    again: Sequence[str] = ()
    variables: Mapping[str, str] = {}
    settings: Mapping[str, str] = {}
    tool: str = "memory_search"
    arguments: Mapping[str, Any] = {"query": "{query}"}
    is_elsewhere: bool = False


AGENTS = {
    name: Agent(**table)
    for name, table in tomllib.loads(Path(__file__).with_name("agents.toml").read_text()).items()
}


class Home:
    """A home with a workspace and another project, which have memories, and a folder without one."""

    def __init__(self, top: Path, programs: list[Path]) -> None:
        self.path = top
        self.workspace = top / "work"
        self.project = top / "project"
        self.bare = top / "bare"
        path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
        self.variables = {"HOME": str(self.path), "PATH": path}
        for variable, place in FOLDERS.items():
            self.variables[variable] = str(self.path / place)
        for folder, note in ((self.project, FOREIGN), (self.workspace, f"{NOTE}\n\n{KEEPER}")):
            (folder / "memory").mkdir(parents=True)
            (folder / "memory/places.md").write_text(f"# Places\n\n{note}\n")
        for folder in (self.project, self.workspace):
            self.memory("init", str(folder), "--yes")
        self.bare.mkdir()

    def run(
        self, command: list[str], cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=cwd,
            env=self.variables | variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TURN_SECONDS,
            check=False,
        )

    def memory(self, *words: str) -> Any:
        """What a command of ours prints as JSON in the workspace."""
        done = self.run(["hybrid-memory", *words, "--json"], self.workspace)
        if not done.stdout:
            raise SystemExit(f"{words[0]}: {done.stderr}")
        return json.loads(done.stdout)

    def echoes(self, name: str) -> int:
        """How many sessions of an agent have the question."""
        collection = f"sessions-{name}"
        words = ("search", QUESTION, "--mode", "keyword", "--collection", collection)
        return sum(QUESTION in hit["text"] for hit in self.memory(*words, "--limit", "60"))

    def has_stored(self, words: str) -> bool:
        """Whether a session with these words is found before long."""
        end = time.monotonic() + STORING_SECONDS
        while time.monotonic() < end:
            found = self.memory("search", words, "--mode", "keyword", "--limit", "3")
            if any(words in hit["text"] for hit in found):
                return True
            time.sleep(1)
        return False


class Trial:
    """An agent in a home."""

    def __init__(self, name: str, home: Home, model: Model) -> None:
        self.name, self.home, self.model = name, home, model
        self.agent = AGENTS[name]
        values = {"url": model.url, "home": str(home.path)}
        for place, text in self.agent.settings.items():
            path = home.path / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(text, values))
        (home.workspace / self.agent.own).write_text(f"# Notes\n\n{OWN}\n")
        self.variables = {key: filled(text, values) for key, text in self.agent.variables.items()}
        self.files: list[Path] = []
        self.trouble = ""

    def connect(self) -> bool:
        """Whether any file changed."""
        [connected] = self.home.memory("connect", self.name, "--yes")
        new = [Path(change["path"]) for change in connected["changes"]]
        self.files += [path for path in new if path not in self.files]
        return bool(new)

    def turn(
        self, prompt: str, session: str, *, is_first: bool = False, folder: Path | None = None
    ) -> list[Request]:
        """Run a turn in a folder (default: the workspace), and return its requests."""
        folder = folder or self.home.workspace
        before = len(self.model.requests)
        values = {"prompt": prompt, "session": session, "folder": folder.name}
        again = [] if is_first else self.agent.again
        words = [[word] if word != "{again}" else again for word in self.agent.command]
        self.run([filled(word, values) for part in words for word in part], folder)
        return self.model.requests[before:]

    def edit(self, number: int) -> None:
        """Let the agent change its settings, or run a session."""
        if number % SESSION_EVERY == SESSION_EVERY - 1:
            self.turn(QUESTION, f"round-{number}", is_first=True)
        edit = self.agent.edits[number % len(self.agent.edits)]
        self.run([filled(word, {"number": str(number)}) for word in edit], self.home.workspace)

    def run(self, command: list[str], folder: Path) -> None:
        cwd = self.home.project if self.agent.is_elsewhere else folder
        try:
            done = self.home.run(command, cwd, **self.variables)
            if done.returncode:
                self.trouble = (done.stderr or done.stdout)[-2000:]
        except subprocess.TimeoutExpired as error:
            self.trouble = str(error)

    def texts(self, connected: "Trial") -> dict[str, str]:
        """The files that `connect` named, without what differs between homes."""
        found = {}
        for path in connected.files:
            file = str(path.relative_to(connected.home.path))
            here = self.home.path / file
            text = here.read_text() if here.exists() else "missing"
            found[file] = PASSING.sub("0", text.replace(str(self.home.path), "HOME"))
        return found

    def session(self, number: int) -> dict[str, Any]:
        """Run a session of three turns, and return what was seen."""
        session = f"trial-{self.name}-{number}"
        fact = fact_of(self.name, number)
        first = self.turn(f"Please remember this: {fact}", session, is_first=True)
        second = self.turn(QUESTION, session)
        self.model.call = self.call(LOOKED_UP)
        third = self.turn(LOOK, session)
        answers = [request for request in second if request.tools]
        every = [*first, *second, *third]
        titles = [request for request in every if not request.tools]
        passages = [text for request in answers[:1] for text in PASSAGES.findall(request.text)]
        return {
            "load": any("memory_search" in str(request) for request in first),
            "own": any(OWN in PASSAGES.sub("", request.text) for request in first),
            "recall": any(NOTE in text for text in passages),
            "title": not any(HEADING in request.text for request in titles),
            "foreign": not any(FOREIGN in request.text for request in every),
            "mcp": self.model.call is None and KEEPER in (third[-1].text if third else ""),
            "stored": self.home.has_stored(fact),
            "characters": sum(map(len, passages)),
        }

    def call(self, query: str) -> Call:
        """The call by which the model searches the memory."""
        arguments = filled(json.dumps(self.agent.arguments), {"query": query})
        return Call(self.agent.tool, json.loads(arguments))

    def visits(self) -> Row:
        """Run sessions in several folders in turn, and return what was seen."""
        home = self.home
        folders = [home.workspace, home.project, home.bare, home.workspace]
        seen = [self.visit(folder, f"visit-{number}") for number, folder in enumerate(folders)]
        counts = {name: sum(each[name] for each in seen) for name in ("apart", "told")}
        return {
            name: ok(count == len(folders), count, len(folders)) for name, count in counts.items()
        }

    def visit(self, folder: Path, session: str) -> dict[str, bool]:
        """Ask the question in a folder, also by the memory tool, and return what was seen."""
        self.model.call = self.call(QUESTION)
        requests = self.turn(QUESTION, session, is_first=True, folder=folder)
        first = next((request.text for request in requests if request.tools), "")
        is_bare = folder == self.home.bare
        own = {self.home.workspace: {NOTE}, self.home.project: {FOREIGN}}.get(folder, set())
        seen = {note for note in (NOTE, FOREIGN) for each in requests if note in each.text}
        return {
            "apart": bool(first) and self.model.call is None and seen == own,
            "told": first.count(MISSING) == is_bare and (HEADING in first) != is_bare,
        }

    def is_clean(self) -> bool:
        """Disconnect, and tell whether nothing is left."""
        self.home.memory("disconnect", self.name, "--yes")
        left = [
            path for path in self.files if path.is_file() and "hybrid-memory" in path.read_text()
        ]
        ours = self.home.path / FOLDERS["XDG_STATE_HOME"] / "hybrid-memory/transcripts" / self.name
        return not left and not ours.exists()


def filled(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def fact_of(name: str, number: int) -> str:
    return f"the {name} barometer number {number} hangs in bay Q{number}{name[:3]}7."


def measure(options: Namespace) -> Iterator[Row]:
    names = options.hosts.split(",")
    folder = Path(options.folder or tempfile.mkdtemp(prefix="hosts-"))
    versions = {name: installed(name, folder) for name in names}
    model = Model()
    programs = [own_installation(folder), folder / "node_modules/.bin"]
    with tempfile.TemporaryDirectory() as temporary:
        top = Path(options.home or temporary)
        home = Home(top, programs)
        trials = [
            Trial(name, home, model) for name in names if not versions[name].startswith("not ")
        ]
        if options.reconnect:
            other = Home(top / "other", programs)
            for trial in trials:
                labels: Row = {"host": trial.name, "version": versions[trial.name]}
                yield labels | rounds_of(trial, Trial(trial.name, other, model), options.reconnect)
            return
        for trial in trials:
            trial.connect()
        rows = [row_of(trial, versions[trial.name], options.sessions) for trial in trials]
        for trial, following, row in zip(trials, [*trials[1:], *trials[:1]], rows, strict=True):
            fact = fact_of(trial.name, 0)
            question = f"In which bay does the {trial.name} barometer number 0 hang?"
            requests = following.turn(question, f"asked-{trial.name}", is_first=True)
            row["elsewhere"] = ok(any(fact in request.text for request in requests))
        for trial, row in zip(trials, rows, strict=True):
            row |= trial.visits()
        for trial, row in zip(trials, rows, strict=True):
            row["disconnect"] = ok(trial.is_clean())
            row["failed"] = sum(str(value).startswith("failed") for value in row.values())
            if trial.trouble:
                print(f"{trial.name}: {trial.trouble}", file=sys.stderr)
    yield from rows
    for name, version in versions.items():
        if version.startswith("not "):
            yield {"host": name, "version": version, "failed": 1}


def own_installation(folder: Path) -> Path:
    """Install this program, as users do, and return the folder of its command. A checkout would keep
    its memory in itself.
    """
    place = folder / "own"
    subprocess.run(["uv", "venv", "--quiet", "--clear", str(place)], check=True)
    command = ["uv", "pip", "install", "--quiet", "--reinstall", "--python", str(place), str(ROOT)]
    subprocess.run(command, check=True)
    return place / "bin"


def installed(name: str, folder: Path) -> str:
    """Install a program, and return its version; else "not installed: " and why."""
    folder.mkdir(parents=True, exist_ok=True)
    programs = folder / "node_modules/.bin"
    environ = os.environ | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for packages in ([NODE], [AGENTS[name].package]):
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"not installed: {' '.join(done.stderr.split())[:200]}"
    words = [AGENTS[name].command[0], "--version"]
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    version = re.search(r"\d+\.\d+\.\d+", done.stdout)
    return version[0] if version else f"not installed: {' '.join(done.stderr.split())[:200]}"


def row_of(trial: Trial, version: str, count: int) -> Row:
    """What was seen in some sessions."""
    seen = [trial.session(number) for number in range(count)]
    row: Row = {"host": trial.name, "version": version}
    for check in ("load", "own", "title", "foreign", "mcp"):
        row[check] = ok(all(each[check] for each in seen))
    for check in ("recall", "stored"):
        row[check] = ok(all(each[check] for each in seen), sum(each[check] for each in seen), count)
    recalled = sum(each["recall"] for each in seen)
    row["echo"] = ok(trial.home.echoes(trial.name) <= count - recalled)
    row["characters"] = round(statistics.mean(each["characters"] for each in seen))
    [state] = [state for state in trial.home.memory("connect") if state["host"] == trial.name]
    row["late"] = state["runs"]["counts"].get("late", 0)
    return row


def rounds_of(trial: Trial, other: Trial, count: int) -> Row:
    """What was seen while an agent was connected and disconnected in turn; `other` never is."""
    kept = changed_twice = 0
    edit_both(trial, other, SESSION_EVERY - 1)  # the agent has been in use
    for number in range(SESSION_EVERY, SESSION_EVERY + count):
        trial.connect()
        before = other.texts(trial)
        edit_both(trial, other, number)
        if number % 2:
            changed_twice += trial.connect()
        is_clean = trial.is_clean()
        expected, texts = other.texts(trial), trial.texts(trial)
        if is_clean and before != expected == texts:
            kept += 1
        else:
            wrong = [file for file in texts if texts[file] != expected[file]]
            print(f"{trial.name}, round {number}: {wrong}, {is_clean=}", file=sys.stderr)
    for each in (trial, other):
        if each.trouble:
            print(f"{trial.name}: {each.trouble}", file=sys.stderr)
    row: Row = {"kept": ok(kept == count, kept, count), "twice": ok(not changed_twice)}
    return row | {"failed": sum(str(value).startswith("failed") for value in row.values())}


def edit_both(trial: Trial, other: Trial, number: int) -> None:
    """Let an agent change its settings in both homes at the same time: a change by OpenClaw takes ten
    seconds of CPU time.
    """
    with ThreadPoolExecutor() as pool:
        for edited in [pool.submit(each.edit, number) for each in (trial, other)]:
            edited.result()


def ok(is_ok: bool, *counts: int) -> str:
    """ "ok" or "failed", and how often."""
    return " ".join(["ok" if is_ok else "failed", *(["{}/{}".format(*counts)] if counts else [])])


if __name__ == "__main__":
    run(
        __doc__,
        "host version load own recall title foreign stored echo elsewhere mcp apart told disconnect "
        "kept twice",
        measure,
        ("--hosts", {"default": ",".join(AGENTS), "help": "comma-separated (default: all)"}),
        ("--folder", {"help": "where the programs are installed; it is kept"}),
        ("--home", {"help": "an empty folder for the home, which is kept"}),
        ("--sessions", {"type": int, "default": 1, "help": "of each (default: 1)"}),
        (
            "--reconnect",
            {"type": int, "help": "of connect, edits and disconnect, without --sessions"},
        ),
    )
