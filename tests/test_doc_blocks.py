"""Every command block of README and docs/ works as typed, in the order in which it stands. (SKILL.md: test_skill.py)

Each page has a world: a home with notes, a vault, a workspace and sessions, and a working directory
that looks like the checkout. The commands of this project are real, behind `hybrid-memory` and `uv
run hybrid-memory` on the PATH. Programs of others are stubs, because they need a network or a
server: what is tried is that the line is well-formed, and that what follows it works.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import NO_SERVER, in_process
from tests.test_docs import FENCE, PAGES, ROOT, SKILL, complete_lines

pytestmark = pytest.mark.large

# Programs of others
STUBS = (
    "claude createdb createuser curl docker llama-server ollama pandoc pg_dump pg_restore psql "
    "sqlite3 systemctl uvx vllm"
).split()
# What exits with 1 by design, because it reports that something is amiss
EXITS_1 = ("hybrid-memory why", "HYBRID_MEMORY_RERANK=local hybrid-memory")
# It needs a terminal, a server of PostgreSQL, or hours
NOT_RUN = re.compile(r"^hybrid-memory search$|hybrid-memory .*postgresql://|^uv run (pytest|bench)")
COMMAND = f"""\
#!/bin/sh
case "$*" in
    init* | "connect "*) exec {sys.executable} -m hybrid_memory "$@" --yes ;; # they ask on a terminal
    *) ;;
esac
case "$1" in
    serve | watch) exec {sys.executable} "$0-until-ready" "$@" ;;
    *) exec {sys.executable} -m hybrid_memory "$@" ;;
esac
"""
# Ends the command when it has printed the address of the page, or what it watches
UNTIL_READY = """\
import signal, subprocess, sys, threading

command = [sys.executable, "-m", "hybrid_memory", *sys.argv[1:]]
with subprocess.Popen(
    command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
) as process:
    too_late = threading.Timer(120, process.kill)
    too_late.start()
    for line in process.stdout:
        print(line, end="", file=sys.stderr)
        if line.startswith("http://") or "press Ctrl-C" in line:
            process.terminate()
too_late.cancel()
sys.exit(process.returncode not in (0, 130, -signal.SIGTERM))
"""
UV = """\
#!/bin/sh
[ "$1" = run ] || exit 0
shift
while [ "$1" != hybrid-memory ]; do
    case "$1" in
        -q) shift ;;
        --project | --group) shift 2 ;;
        *) echo "uv run $1 is not known here" >&2; exit 2 ;;
    esac
done
exec "$@"
"""
BEFORE = {  # what a page says or assumes of the memory
    "README.md": [],
    "contributing.md": [],
    "evaluation.md": [],
    "plugins.md": [],
    "postgres.md": [],
    "notes.md": ["ingest --path {home}/vault"],
}
USUAL = ["ingest --path docs/example-notes --path memory"]


def commands(page: Path) -> list[str]:
    """The command lines of a page's blocks."""
    found: list[str] = []
    for language, block in FENCE.findall(page.read_text("utf-8")):
        if language == "bash":
            found += complete_lines(block)
        elif language == "console":
            found += [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return [re.sub(r"\s+# .*", "", line) for line in found]


PAGES_WITH_COMMANDS = [page for page in PAGES if page != SKILL and commands(page)]


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """The working directory; the home is beside it."""
    home, here, programs = tmp_path / "home", tmp_path / "checkout", tmp_path / "bin"
    example = ROOT / "docs/example-notes"
    shutil.copytree(example, home / "notes")
    (home / "notes/draft.txt").write_text("A draft.")
    (home / "notes/old").mkdir()
    (home / "papers").mkdir()
    shutil.copytree(ROOT / "tests/vault", home / "vault")
    (home / "vault/Acme.md").write_text("A customer of [[Steph Ango]].\n")
    (home / "vault/Steph Ango.md").write_text("The contract with [[Acme]] ends in May.\n")
    (here / "memory").mkdir(parents=True)
    (here / "memory/2026-01-05.md").write_text("# Monday\n\nThe GPU server moved.\n")
    for name in ("AGENTS.md", "MEMORY.md", "TOOLS.md"):
        (here / name).write_text(f"# {name}\n\nNothing yet.\n")
    (home / "workspace").symlink_to(here)
    (home / ".openclaw/agents/main/sessions").mkdir(parents=True)
    (home / ".config/fish/completions").mkdir(parents=True)
    (here / "docs").symlink_to(ROOT / "docs")
    judged_notes(here / "tests/quality")
    (here / "queries.jsonl").write_text('{"id": "q1", "text": "which port does SSH use?"}\n')
    (here / "qrels.tsv").write_text("q1\texample-notes/hosts/atlas.md\t3\n")
    (here / "memory.db.token").write_text("secret\n")
    programs.mkdir()
    for name, text in {
        "hybrid-memory": COMMAND,
        "hybrid-memory-until-ready": UNTIL_READY,
        "uv": UV,
        **dict.fromkeys(STUBS, "#!/bin/sh\n"),
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    return here


def judged_notes(folder: Path) -> None:
    """Three judged queries, and some of the notes."""
    quality = ROOT / "tests/quality"
    shutil.copytree(quality / "notes/projects", folder / "notes/projects")
    for name in ("queries.jsonl", "qrels.tsv"):
        first = (quality / name).read_text().splitlines(keepends=True)[:3]
        (folder / name).write_text("".join(first))


def environment(world: Path) -> dict[str, str]:
    top = world.parent
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HYBRID_MEMORY_", "OLLAMA_", "XDG_", "UV_"))
    }
    return kept | {
        "HOME": str(top / "home"),
        "PATH": f"{top / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HYBRID_MEMORY_CONFIG": str(world / "config.json"),
        "OLLAMA_HOST": NO_SERVER,
        "HYBRID_MEMORY_PROVIDER": "builtin",
        "BROWSER": "true",
    }


def prepare(world: Path, page: Path) -> None:
    """Make the memory that the page assumes."""
    (world / "config.json").write_text('{"db_path": "memory.db"}')
    for line in BEFORE.get(page.name, USUAL):
        args = line.format(home=world.parent / "home").split()
        done = in_process(tuple(args), environment(world), world)
        assert done.returncode == 0, done.stderr
    if page.name == "keeping-in-step.md":  # a damaged memory, and what sqlite3 would save of it
        for name in ("damaged.db", "recovered.db"):
            shutil.copy(world / "memory.db", world / name)


def run(world: Path, lines: list[str]) -> list[tuple[str, str, str]]:
    """Run lines in one shell; return each with its exit status and what it printed as messages."""
    top = world.parent
    script = ""
    for number, line in enumerate(lines):
        if not NOT_RUN.search(line):
            script += f"{{ {line}\n}} 2>{top}/messages-{number} </dev/null\n"
            script += f"echo {number} $? >>{top}/status\n"
    environ = environment(world)
    script = script.replace("/tmp/example.db", str(world / "example.db"))
    done = subprocess.run(
        ["bash", "-c", script], cwd=world, env=environ, capture_output=True, text=True, timeout=300
    )
    statuses = dict(line.split() for line in (top / "status").read_text().splitlines())
    assert len(statuses) == sum(not NOT_RUN.search(line) for line in lines), done.stderr
    return [
        (lines[int(number)], status, (top / f"messages-{number}").read_text())
        for number, status in statuses.items()
    ]


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.name)
def test_every_block_works_as_typed(page: Path, world: Path) -> None:
    prepare(world, page)
    failed = [
        (line, status, messages)
        for line, status, messages in run(world, commands(page))
        if status != "0" and not (status == "1" and line.startswith(EXITS_1))
    ]
    assert failed == []


def test_the_blocks_are_found() -> None:
    lines = [line for page in PAGES_WITH_COMMANDS for line in commands(page)]
    assert len(lines) > 60
    assert sum("hybrid-memory" in line for line in lines) > 45
    assert sum(bool(NOT_RUN.search(line)) for line in lines) < 10
