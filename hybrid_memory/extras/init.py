"""The command `init`: find notes, ask which to ingest, ingest them, and print the next steps.

It finds an agent's notes, vaults, folders of notes, and the session transcripts of agents. Other
places with markdown are reported as left out, with the reason.
"""

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from shlex import join
from textwrap import indent
from typing import TYPE_CHECKING, Any, NamedTuple

from ..addresses import absolute, display_name
from ..documents.files import UNKNOWN_WORKSPACE, Walk
from ..documents.workspaces import FILES, FOLDERS, is_workspace_name
from ..errors import MissingStoreError, SourceError
from ..storage.source import Source, default_collection, is_in, real_path
from ..surface import opening
from ..surface.arguments import Parser, examples
from ..surface.opening import any_near, open_store, own_memories
from ..surface.streams import advise, advise_model, harmless, output, print_answer, printable, tell
from ..surface.terminal import progress_line
from ..sync.ingest import Ingest, remember
from ..sync.reading import cores
from ..text.characters import plural
from .agent_text import paragraph
from .asking import can_ask, confirm
from .connect import memory_options
from .environment import has, program
from .hosts import SessionFolder, hosts, memory_places, session_folders

if TYPE_CHECKING:
    from ..config import Settings

OF_AGENTS = (*FILES, "memory", ".agents")  # in a folder in which an agent works, as `in_workspaces`
VAULT = ".obsidian"  # a folder that contains this one is a vault
SESSIONS = "sessions"  # `Place.kind` of a folder of transcripts
OF_HOST = "memory"  # `Place.kind` of notes that an agent keeps outside the workspace
NOTES = ("*.md",)
TRANSCRIPTS = ("*.jsonl",)
NAMED = 8  # places listed in one line
REASON = "beside agent notes, only vaults, agent files and folders memory and notes are ingested"
WAY_OUT = "`hybrid-memory ingest --path PATH` adds any other"


class Place(NamedTuple):
    """A folder or file that can be ingested; `kind` is vault, folder, file, memory or sessions.
    `size` is in bytes. With a `workspace`, only sessions that began in it are counted and ingested.
    """

    path: str
    kind: str
    patterns: tuple[str, ...]
    files: int
    size: int
    collection: str | None = None  # None: what `ingest` would choose
    workspace: str | None = None

    def is_ingested_by(self, sources: list[Source]) -> bool:
        """Whether a source covers this place: the place itself or a folder that contains it."""
        return any(map(self._is_covered_by, sources))

    def _is_covered_by(self, source: Source) -> bool:
        if source.workspace and not (self.workspace and is_in(self.workspace, source.workspace)):
            return False
        if source.path == self.path:
            return True
        return is_in(self.path, source.path) and set(self.patterns) <= set(source.patterns)


class Surroundings(NamedTuple):
    """What was found around a folder: places to ingest, places with markdown that are left out, the
    names of transcripts that do not record where their session began, and the usual places of an
    agent's notes that do not exist or are empty.
    """

    places: list[Place]
    left_out: list[Place]
    unknown_sessions: list[str]
    awaited: list[Place]


def workspace(folder: str, home: str) -> Surroundings:
    """Find the places to ingest in a folder: first notes, then the notes that agents of the user
    with this home keep elsewhere for this workspace, then their transcripts. If an agent keeps the
    sessions of all workspaces together, only those of this workspace count.

    A vault is one place. In an agent's workspace, only files and folders with the usual names of
    notes count. In a folder that contains vaults, each part with markdown is a place. Any other
    folder is one place. Raises SourceError if the folder cannot be listed.
    """
    top = real_path(folder)
    try:
        names = sorted(os.listdir(top))
    except OSError as error:
        raise SourceError(f"cannot look into {folder}: {error.strerror}") from error
    left_out: list[Place] = []
    if VAULT in names:
        notes = [_folder(top, "vault")]
    else:
        notes = list(_notes_by_name(top, names))
        others = _other_places(top, notes)
        if any(place.kind != "vault" for place in notes):
            left_out = others
        elif notes:
            notes = sorted(notes + others)
        else:
            notes = [_folder(top, "folder")]
    sessions, unknown = _sessions(top, session_folders(home, workspace=top))
    places = [place for place in notes + list(_of_hosts(home, top)) + sessions if place.files]
    awaited = list(_awaited(top, names, places)) if _is_of_agent(names) else []
    return Surroundings(places, left_out, unknown, awaited)


def _is_of_agent(names: Iterable[str]) -> bool:
    """Whether an agent works in a folder with these files and folders."""
    of_hosts = (name for host in hosts().values() for name in host.in_workspaces)
    known = {name.lower() for name in (*OF_AGENTS, *of_hosts)}
    return any(name.lower() in known for name in names)


def _awaited(top: str, names: Sequence[str], places: Sequence[Place]) -> Iterator[Place]:
    """Yield the usual places of notes in a workspace that have no notes yet."""
    present = {name.lower(): name for name in names}
    for name in (*FILES, *FOLDERS):
        path = os.path.join(top, present.get(name.lower(), name))
        if not any(is_in(path, place.path) for place in places):
            kind = "folder" if name in FOLDERS else "file"
            yield Place(path, kind, NOTES if kind == "folder" else (), 0, 0)


def _notes_by_name(top: str, names: list[str]) -> Iterator[Place]:
    """Yield vaults, and files and folders with the usual names of an agent's notes."""
    for name in names:
        path = os.path.join(top, name)
        if os.path.isdir(os.path.join(path, VAULT)):
            yield _folder(path, "vault")
        elif name.lower() in FOLDERS and os.path.isdir(path):
            yield _folder(path, "folder")
        elif is_workspace_name(name) and os.path.isfile(path):
            yield _file(path)


def _other_places(top: str, notes: Sequence[Place]) -> list[Place]:
    """Return all other entries of `top` that are or contain markdown."""
    named = {place.path for place in notes}
    sizes: dict[str, list[int]] = {}
    for file in Walk(top, NOTES):
        name = file.relative.partition(os.sep)[0]
        path = os.path.join(top, name)
        if path not in named:
            sizes.setdefault(path, []).append(file.size)
    others = []
    for path, file_sizes in sizes.items():
        if os.path.isdir(path):
            others.append(Place(path, "folder", NOTES, len(file_sizes), sum(file_sizes)))
        else:
            others.append(_file(path))
    return others


def _file(path: str) -> Place:
    return Place(os.path.realpath(path), "file", (), 1, os.path.getsize(path))


def _of_hosts(home: str, top: str) -> Iterator[Place]:
    """Yield the notes that agents keep for this workspace outside it."""
    for memory in memory_places(home, top):
        if os.path.isdir(memory.path):
            place = _folder(memory.path, OF_HOST)
        else:
            place = _file(memory.path)._replace(kind=OF_HOST)
        if not is_in(place.path, top):
            yield place._replace(collection=memory.collection)


def _sessions(top: str, folders: Iterable[SessionFolder]) -> tuple[list[Place], list[str]]:
    """Return the places of transcripts, and the names of transcripts that do not record where their
    session began.
    """
    places: list[Place] = []
    unknown: list[str] = []
    for folder in folders:
        path = os.path.realpath(folder.path)
        workspace = top if folder.has_all_workspaces else None
        walk = Walk(path, TRANSCRIPTS, workspace=workspace)
        sizes = [file.size for file in walk]
        place = Place(path, SESSIONS, TRANSCRIPTS, len(sizes), sum(sizes), folder.collection)
        places.append(place._replace(workspace=workspace))
        unknown += [name for name, rule in walk.left_out.items() if rule == UNKNOWN_WORKSPACE]
    return places, unknown


def _folder(path: str, kind: str) -> Place:
    path = os.path.realpath(path)
    sizes = [file.size for file in Walk(path, NOTES)]
    return Place(path, kind, NOTES, len(sizes), sum(sizes))


KINDS = {
    "vault": "Obsidian vault",
    "folder": "notes",
    "file": "note",
    OF_HOST: "notes of an agent",
    SESSIONS: "session transcripts, private",
}
OF_WORKSPACE = "session transcripts of this workspace, private"


def init_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [DIR]"
    parser.add_argument(
        "dir",
        nargs="?",
        default=".",
        metavar="DIR",
        help="where to look (default: the working directory)",
    )
    parser.add_argument("--yes", action="store_true", help="ingest the notes without asking")
    parser.add_argument(
        "--sessions", action="store_true", help="also ingest the session transcripts"
    )
    parser.add_argument(
        "--json", action="store_true", help="print JSON without asking, even on a terminal"
    )
    examples(parser, "init ~/workspace", "init ~/workspace --yes --sessions")


def run_init(args: Namespace) -> int:
    args.workspace = args.dir
    settings = _with_separate_memory(args, opening.settings(args))
    places, left_out, unknown, awaited = workspace(args.dir, os.path.expanduser("~"))
    sources = _sources(args, settings)
    top = os.path.basename(real_path(args.dir))
    places = [_with_free_collection(place, top, sources) for place in places]
    awaited = [
        _with_free_collection(place, top, sources)
        for place in awaited
        if not place.is_ingested_by(sources)
    ]
    new = [place for place in places if not place.is_ingested_by(sources)]
    left_out = [place for place in left_out if not place.is_ingested_by(sources)]
    is_asking = can_ask(args)
    if sys.stdout.isatty() and not args.json:
        _show_found(args.dir, display_name(settings["db_path"]), places, new, left_out)
    chosen = _choose(args, new, is_asking)
    reports = []
    if chosen:
        reports = _ingest(args, chosen)
    skipped = [place for place in new if place not in chosen]
    notes = [place for place in places if place.kind != SESSIONS]
    is_waiting = bool(awaited) and not any(place in skipped for place in notes)
    if is_waiting and not notes:
        is_waiting = args.yes or (is_asking and confirm(AWAIT, True))
    if is_waiting and (notes or not left_out):
        _await(args, awaited)
    answer = {
        "dir": os.path.abspath(args.dir),
        "db_path": display_name(absolute(settings["db_path"])),
        "found": [
            _as_json(place) | {"taken": place in chosen, "in_memory": place not in skipped}
            for place in places
        ],
        "left_out": [_as_json(place) for place in left_out],
        "unknown_sessions": unknown,
        "reports": reports,
    }
    if len(skipped) < len(places):
        answer |= _next_commands(args, settings)
    is_for_agent = _has_agent(real_path(args.dir), places)
    print_answer(
        args,
        answer,
        lambda stream: print(_next_steps(answer, is_for_agent), end="", file=stream),
    )
    if is_waiting and not notes:
        tell("there are no notes yet; `hybrid-memory update` will ingest those written here")
    else:
        tell(*_remarks(args, places, new, skipped))
    if unknown and (args.sessions or any(place.kind == SESSIONS for place in chosen)):
        advise(args, _unknown_sessions_line(unknown))
    if left_out and not (sys.stdout.isatty() and not args.json):
        advise(args, _left_out_line(left_out))
    if not (notes or is_waiting) or any(place in skipped for place in notes):
        return 1
    if any(report["errors"] for report in reports):
        return 1
    return 0


def _with_separate_memory(args: Namespace, settings: "Settings") -> "Settings":
    """Return the settings; with a separate memory for this workspace if the user chose none and the
    default memory has only notes of other workspaces.
    """
    if opening.origin(settings, "db_path") != opening.DEFAULT:
        return settings
    top = real_path(args.dir)
    sources = _sources(args, settings)
    if not sources or any_near(sources, top):
        return settings
    usual = absolute(settings["db_path"])
    for path in own_memories(usual, top):
        args.db = path
        settings = opening.settings(args)
        sources = _sources(args, settings)
        if any_near(sources, top) or (not sources and not os.path.exists(args.db)):
            break
    advise(
        args,
        f"{display_name(usual)} has the notes of another workspace, so this one gets a separate memory, "
        f"{display_name(args.db)}; use --db {display_name(usual)} to ingest it there",
    )
    return settings


def _sources(args: Namespace, settings: "Settings") -> list[Source]:
    """Return the sources that were ingested before. Creates no database."""
    try:
        with open_store(args) as store:
            return store.storage.sources.all()
    except MissingStoreError:
        return []


def _with_free_collection(place: Place, top: str, sources: list[Source]) -> Place:
    """Return the place, with another collection name if its default name is already taken."""
    if place.is_ingested_by(sources):
        return place
    is_file = place.kind == "file"
    name = place.collection or default_collection(place.path, is_file, place.patterns)
    if name is None:
        name = os.path.basename(place.path)
    names = {source.collection or os.path.basename(source.path) for source in sources}
    if name not in names:
        return place
    stem = f"{name.removesuffix('.md')}-{top}"
    ends = chain([""], (f"-{number}" for number in count(2)))
    return place._replace(collection=next(stem + end for end in ends if stem + end not in names))


def _choose(args: Namespace, new: Sequence[Place], is_asking: bool) -> list[Place]:
    """Return the places to ingest: notes if the user agrees, and transcripts, which are private,
    only if the user agrees to them separately.
    """
    chosen = [place for place in new if place.kind != SESSIONS]
    if chosen and not (args.yes or (is_asking and confirm(f"Ingest {_file_count(chosen)}?", True))):
        return []
    sessions = [place for place in new if place.kind == SESSIONS]
    question = f"Also ingest {_file_count(sessions)} of sessions? Recognised secrets are masked."
    if sessions and (args.sessions or (is_asking and confirm(question, False))):
        chosen += sessions
    return chosen


AWAIT = "There are no notes yet. Ingest those that an agent will write here?"


def _await(args: Namespace, places: Sequence[Place]) -> None:
    """Make places that have no notes yet sources, so that an update finds later ones."""
    with open_store(args, create=True) as store:
        for place in places:
            is_file = place.kind == "file"
            name = place.collection or default_collection(place.path, is_file, place.patterns)
            remember(store, Source(place.path, name, is_file, place.patterns))


def _ingest(args: Namespace, places: Sequence[Place]) -> list[dict[str, Any]]:
    """Return one report for all notes without a collection, and one for each other place."""
    together = [place for place in places if place.collection is None]
    apart = [place for place in places if place.collection is not None]
    reports = []
    with open_store(args, create=True) as store, progress_line(args.quiet) as progress:
        is_first = store.storage.chunks.count() == 0

        def ingest(paths: list[str], like: Place) -> None:
            job = Ingest(
                store,
                patterns=like.patterns or NOTES,
                incremental=True,
                workspace=like.workspace,
                keep_missing=like.kind == SESSIONS,  # agents delete old ones
                workers=cores(),
                progress=progress,
            )
            reports.append(job.run(paths, like.collection))

        if together:
            ingest([place.path for place in together], together[0])
        for place in apart:
            ingest([place.path], place)
        for report in reports:
            tell(*report.error_lines(), *report.warning_lines())
            advise(args, *report.advice_lines())
        if is_first and any(report.files for report in reports):
            advise_model(args, store)
    return [report.as_dict() for report in reports]


def _next_commands(args: Namespace, settings: "Settings") -> dict[str, Any]:
    """Return the next commands, and lines for AGENTS.md and a crontab that work from any folder."""
    options = _chosen_options(args, settings)
    short = join([*program(), *options])
    full = join([*program(for_cron=True), *options])
    cron = f"0 */6 * * *  {full} update --quiet >/dev/null"
    commands = [f'{short} search "what you want to know"']
    if sys.stdout.isatty() and not args.json and has("serve"):
        commands.append(f"{short} serve --open   # search as you type, in the browser")
    return {
        "next": [*commands, f"{short} list --limit 10", f"{short} doctor", f"{short} connect"],
        "agents_md": paragraph(short),
        "crontab": cron.replace("%", r"\%"),  # cron turns a bare % into a line break
    }


def _chosen_options(args: Namespace, settings: "Settings") -> list[str]:
    """Return the options that the next commands need to use the same memory."""
    options = memory_options(args, settings, "--db", "HYBRID_MEMORY_DB_PATH", opening.WORKSPACE)
    for key in ("space", "provider"):
        if opening.origin(settings, key) == f"--{key}":
            options += [f"--{key}", settings[key]]
    return options


def _as_json(place: Place) -> dict[str, Any]:
    return {"path": place.path, "kind": place.kind, "files": place.files, "bytes": place.size}


def _show_found(
    folder: str,
    db_path: str,
    places: Sequence[Place],
    new: Sequence[Place],
    left_out: Sequence[Place],
) -> None:
    with output() as stream:
        top = harmless(_abbreviated(os.path.abspath(folder)))
        print(f"Searched {top}, and the home for sessions.", file=stream)
        for place in places:
            state = "; already ingested"
            if place in new:
                state = ""
            if place.collection and place.kind != SESSIONS:
                state = f"; as the collection {harmless(place.collection)}"
            kind = OF_WORKSPACE if place.workspace else KINDS[place.kind]
            what = f"{kind}, {_file_count([place])}, {_bytes(place.size)}{state}"
            print(f"  {harmless(_abbreviated(place.path))}  ({what})", file=stream)
        if left_out:
            print(f"Left out: {REASON}. {WAY_OUT}.", file=stream)
        for place in left_out:
            what = f"{_file_count([place])}, {_bytes(place.size)}"
            print(f"  {harmless(_abbreviated(place.path))}  ({what})", file=stream)
        print(f"The memory is {harmless(_abbreviated(db_path))}.", file=stream)


def _left_out_line(places: Sequence[Place]) -> str:
    """Return one line about the places that were left out."""
    names = [f"{os.path.basename(place.path)} ({_file_count([place])})" for place in places[:NAMED]]
    if len(places) > NAMED:
        names.append(f"{len(places) - NAMED:,} more places ({_file_count(places[NAMED:])})")
    return f"left out: {', '.join(names)}; {REASON}; {WAY_OUT}"


def _unknown_sessions_line(paths: Sequence[str]) -> str:
    """Return one line about transcripts that do not record where their session began."""
    names = [os.path.basename(path) for path in paths[:NAMED]]
    if len(paths) > NAMED:
        names.append(f"{len(paths) - NAMED:,} more")
    problem = plural(len(paths), "transcript does not record", "transcripts do not record")
    return (
        f"left out: {', '.join(names)}; {problem} the folder in which the session began; "
        "ingest one with `hybrid-memory ingest --path FILE`"
    )


def _has_agent(folder: str, places: Sequence[Place]) -> bool:
    """Whether an agent works in this folder: it has an agent's files, or sessions began in it."""
    return _is_of_agent(os.listdir(folder)) or any(
        place.workspace and place.files for place in places
    )


def _next_steps(answer: dict[str, Any], is_for_agent: bool) -> str:
    if "next" not in answer:
        return ""
    parts = {"Next": "\n".join(answer["next"])}
    if is_for_agent:
        parts["For AGENTS.md"] = answer["agents_md"]
    parts["For `crontab -e`"] = answer["crontab"]
    return "".join(
        f"\n{title}:\n\n{indent(printable(text), '  ')}\n" for title, text in parts.items()
    )


def _remarks(
    args: Namespace, places: Sequence[Place], new: Sequence[Place], skipped: Sequence[Place]
) -> Iterator[str]:
    if all(place.kind == SESSIONS for place in places):
        yield (
            f"there is no markdown in {args.dir}; for other files, run for example "
            '`hybrid-memory ingest --path DIR --pattern "*.txt"`'
        )
    elif not new:
        yield "everything is already ingested; run `hybrid-memory update` to read changed files"
    if any(place.kind != SESSIONS for place in skipped):
        yield "nothing was changed; use --yes to ingest the notes without a question"
    elif skipped and not args.sessions:
        yield "session transcripts are private and were left out; use --sessions to ingest them"


def _file_count(places: Iterable[Place]) -> str:
    return plural(sum(place.files for place in places), "file")


def _bytes(size: int) -> str:
    if size < 1000:
        return f"{size:,} bytes"
    if size < 1_000_000:
        return f"{size / 1000:,.0f} KB"
    return f"{size / 1e6:,.1f} MB"


def _abbreviated(path: str) -> str:
    """Abbreviate the home in a path to ~."""
    home = os.path.join(os.path.expanduser("~"), "")
    if path.startswith(home):
        return "~/" + path.removeprefix(home)
    return path
