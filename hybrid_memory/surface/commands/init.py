"""The command `init`: finds what is worth taking in, asks, takes it in, and says how to go on.

MERGED What is worth taking in below a folder: an agent's notes, a vault, and the session
transcripts of agents. Reads no file.
"""

import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from shlex import join
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple

from ...config import absolute, is_server, shown, without_password
from ...documents.files import Walk
from ...environment import program
from ...errors import SourceError, StoreError
from ...storage.source import Source, is_in, real_path
from .. import opening
from ..arguments import Parser, examples
from ..opening import open_store
from ..streams import advise, advise_model, harmless, output, print_answer, printable, tell

if TYPE_CHECKING:
    from ...config import Settings

FILES = ("memory.md", "agents.md", "tools.md", "user.md")  # of an agent's workspace, in any case
FOLDERS = ("memory", "notes")
VAULT = ".obsidian"  # the folder that makes a folder a vault
SESSIONS = "sessions"  # the kind of a folder of transcripts
NOTES, TRANSCRIPTS = ("*.md",), ("*.jsonl",)


class Place(NamedTuple):
    """A folder or file that can be ingested; `kind` is vault, folder, file or sessions. `size` is
    in bytes.
    """

    path: str
    kind: str
    patterns: tuple[str, ...]
    files: int
    size: int
    collection: str | None = None  # None: what `ingest` would choose

    def is_of(self, sources: list[Source]) -> bool:
        """Whether one of the sources takes in this place: itself, or for notes a folder around it."""
        return any(
            source.path == self.path
            or (is_in(self.path, source.path) and set(self.patterns) <= set(source.patterns))
            for source in sources
        )


def workspace(folder: str, home: str) -> list[Place]:
    """The places of a folder, notes first, then the transcripts of the agents of the user whose
    home this is.

    A vault is taken as a whole. Where nothing has a name that is known, the folder itself is a
    place if notes lie in it. Raises SourceError if it cannot be listed.
    """
    top = real_path(folder)
    try:
        names = sorted(os.listdir(top))
    except OSError as error:
        raise SourceError(f"cannot look into {folder}: {error.strerror}") from error
    if VAULT in names:
        notes = [_folder(top, "vault")]
    else:
        notes = list(_named(top, names))
        if not notes and any(name.endswith(".md") for name in names):
            notes = [_folder(top, "folder")]
    sessions = [
        _folder(path, SESSIONS, TRANSCRIPTS, collection)
        for collection, path in _sessions(top, home)
        if os.path.isdir(path)
    ]
    return [place for place in notes + sessions if place.files]


def _named(top: str, names: list[str]) -> Iterator[Place]:
    for name in names:
        path = os.path.join(top, name)
        if os.path.isdir(os.path.join(path, VAULT)):
            yield _folder(path, "vault")
        elif name.lower() in FOLDERS and os.path.isdir(path):
            yield _folder(path, "folder")
        elif name.lower() in FILES and os.path.isfile(path):
            yield Place(os.path.realpath(path), "file", (), 1, os.path.getsize(path))


def _sessions(top: str, home: str) -> Iterator[tuple[str, str]]:
    """Where OpenClaw, Claude Code and pi keep what was said, each with a collection. Of Claude
    Code, the project of `top`.
    """
    agents = os.path.join(home, ".openclaw", "agents")
    with suppress(OSError):
        for agent in sorted(os.listdir(agents)):
            yield (
                "sessions" if agent == "main" else f"sessions-{agent}",
                os.path.join(agents, agent, "sessions"),
            )
    projects = os.path.join(home, ".claude", "projects")
    of_this = os.path.join(projects, re.sub("[^A-Za-z0-9]", "-", top))
    yield "sessions-claude", of_this if os.path.isdir(of_this) else projects
    yield "sessions-pi", os.path.join(home, ".pi", "agent", "sessions")


def _folder(
    path: str, kind: str, patterns: tuple[str, ...] = NOTES, collection: str | None = None
) -> Place:
    path = os.path.realpath(path)
    sizes = [file.size for file in Walk(path, patterns)]
    return Place(path, kind, patterns, len(sizes), sum(sizes), collection)


AGENTS = """\
## Memory
Before answering anything about past work, decisions, people, hosts, dates or preferences:
1. `{program} search "…" --refresh --budget 4000 --format md`
2. Around a passage: `{program} get "CITATION"`
Cite what you used."""
KINDS = {
    "vault": "Obsidian vault",
    "folder": "notes",
    "file": "note",
    SESSIONS: "session transcripts, private",
}


def init_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [DIR]"
    parser.add_argument(
        "dir",
        nargs="?",
        default=".",
        metavar="DIR",
        help="where to look (default: the working directory)",
    )
    parser.add_argument("--yes", action="store_true", help="take in the notes, and ask nothing")
    parser.add_argument(
        "--sessions", action="store_true", help="take in the session transcripts, too"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON and ask nothing, on a terminal too"
    )
    examples(parser, "init ~/workspace", "init ~/workspace --yes --sessions")


def run_init(args: Namespace) -> int:
    settings = opening.settings(args)
    places = workspace(args.dir, os.path.expanduser("~"))
    new = _new(args, places, settings)
    is_asking = sys.stdin.isatty() and sys.stdout.isatty() and not (args.json or args.yes)
    if sys.stdout.isatty() and not args.json:
        _show_found(args.dir, shown(settings["db_path"]), places, new)
    taken = _wanted(args, new, is_asking)
    reports = _ingest(args, taken) if taken else []
    left = [place for place in new if place not in taken]
    answer = {
        "dir": os.path.abspath(args.dir),
        "db_path": shown(absolute(settings["db_path"])),
        "found": [
            _described(place) | {"taken": place in taken, "in_memory": place not in left}
            for place in places
        ],
        "reports": reports,
        **(_how_to_go_on(args, settings) if len(left) < len(places) else {}),
    }
    print_answer(args, answer, lambda stream: print(_next_steps(answer), end="", file=stream))
    tell(*_what_was_not_done(args, places, new, left))
    notes = [place for place in places if place.kind != SESSIONS]
    is_done = (
        notes
        and not any(place in left for place in notes)
        and not any(report["errors"] for report in reports)
    )
    return 0 if is_done else 1


def _new(args: Namespace, places: Sequence[Place], settings: "Settings") -> list[Place]:
    """What is not in the memory. Makes no database."""
    try:
        with open_store(args) as store:
            sources = store.storage.sources.all()
    except StoreError:
        if is_server(settings["db_path"]) or not os.path.exists(settings["db_path"]):
            return list(places)  # what else may be wrong is told when they are taken in
        raise
    return [place for place in places if not place.is_of(sources)]


def _wanted(args: Namespace, new: Sequence[Place], is_asking: bool) -> list[Place]:
    """What is to be taken in: notes if the user agrees, and transcripts, which are private, only if
    the user says so for them.
    """
    taken = [place for place in new if place.kind != SESSIONS]
    if taken and not (args.yes or (is_asking and _agrees(f"Take in {_files(taken)}?", True))):
        return []
    sessions = [place for place in new if place.kind == SESSIONS]
    question = (
        f"Take in {_files(sessions)} of sessions, too? Secrets that are recognised are masked."
    )
    if sessions and (args.sessions or (is_asking and _agrees(question, False))):
        taken += sessions
    return taken


def _agrees(question: str, default: bool) -> bool:
    try:
        reply = input(f"{question} {'[Y/n]' if default else '[y/N]'} ").strip().lower()
    except EOFError:
        print()
        return False
    return reply in ("y", "yes") if reply else default


def _ingest(args: Namespace, places: Sequence[Place]) -> list[dict[str, Any]]:
    """A report of all notes, and one of each folder of transcripts."""
    from ...sync.ingest import Ingest
    from ...sync.reading import cores
    from ..terminal import progress_line

    notes = [place.path for place in places if place.kind != SESSIONS]
    with open_store(args, create=True) as store, progress_line(args.quiet) as progress:
        reports = (
            [Ingest(store, incremental=True, workers=cores(), progress=progress).run(notes)]
            if notes
            else []
        )
        for place in (place for place in places if place.kind == SESSIONS):
            job = Ingest(
                store, patterns=place.patterns, incremental=True, workers=cores(), progress=progress
            )
            reports.append(job.run([place.path], place.collection))
        for report in reports:
            tell(*report.error_lines(), *report.warning_lines())
            advise(args, *report.advice_lines())
        if any(report.embedded for report in reports):
            advise_model(args, store)
    return [report.as_dict() for report in reports]


def _how_to_go_on(args: Namespace, settings: "Settings") -> dict[str, Any]:
    """The next commands, and the lines for AGENTS.md and a crontab, as they run from anywhere."""
    named = []
    if args.config or os.environ.get("HYBRID_MEMORY_CONFIG"):
        named += [
            "--config",
            os.path.abspath(os.path.expanduser(args.config or os.environ["HYBRID_MEMORY_CONFIG"])),
        ]
    if opening.origin(settings, "db_path") in ("--db", "HYBRID_MEMORY_DB_PATH"):
        named += ["--db", without_password(absolute(settings["db_path"]))]
    short, full = (join([*words, *named]) for words in (program(), program(for_cron=True)))
    return {
        "next": [
            f'{short} search "what you want to know"',
            f"{short} list --limit 10",
            f"{short} doctor",
        ],
        "agents_md": AGENTS.format(program=short),
        "crontab": f"0 */6 * * *  {full} update --quiet >/dev/null".replace(
            "%", r"\%"
        ),  # cron makes a line break of a bare %
    }


def _described(place: Place) -> dict[str, Any]:
    return {"path": place.path, "kind": place.kind, "files": place.files, "bytes": place.size}


def _show_found(folder: str, db_path: str, places: Sequence[Place], new: Sequence[Place]) -> None:
    with output() as stream:
        print(
            f"Looked into {harmless(_short(os.path.abspath(folder)))}, and for sessions into the home.",
            file=stream,
        )
        for place in places:
            what = f"{KINDS[place.kind]}, {_files([place])}, {_bytes(place.size)}"
            print(
                f"  {harmless(_short(place.path))}  ({what}{'' if place in new else '; in the memory'})",
                file=stream,
            )
        print(f"The memory is {harmless(_short(db_path))}.", file=stream)


def _next_steps(answer: dict[str, Any]) -> str:
    if "next" not in answer:
        return ""
    parts = {
        "Next": "\n".join(answer["next"]),
        "For AGENTS.md": answer["agents_md"],
        "For `crontab -e`": answer["crontab"],
    }
    return "".join(
        f"\n{title}:\n\n{indent(printable(text), '  ')}\n" for title, text in parts.items()
    )


def _what_was_not_done(
    args: Namespace, places: Sequence[Place], new: Sequence[Place], left: Sequence[Place]
) -> Iterator[str]:
    if all(place.kind == SESSIONS for place in places):
        yield f"there are no notes with a known name in {args.dir}; `hybrid-memory ingest --path DIR` takes in any folder"
    elif not new:
        yield "all of it is in the memory already; `hybrid-memory update` takes in what has changed"
    if any(place.kind != SESSIONS for place in left):
        yield "nothing was changed; --yes takes in the notes without a question"
    elif left and not args.sessions:
        yield "session transcripts are private and were left out; --sessions takes them in"


def _files(places: Iterable[Place]) -> str:
    count = sum(place.files for place in places)
    return "1 file" if count == 1 else f"{count:,} files"


def _bytes(size: int) -> str:
    return (
        f"{size:,} bytes"
        if size < 1000
        else f"{size / 1000:,.0f} KB"
        if size < 1_000_000
        else f"{size / 1e6:,.1f} MB"
    )


def _short(path: str) -> str:
    """The path with ~ for the home."""
    home = os.path.join(os.path.expanduser("~"), "")
    return "~/" + path.removeprefix(home) if path.startswith(home) else path
