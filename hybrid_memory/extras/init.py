"""The command `init`: find notes, ask which to ingest, ingest them, and print the next steps."""

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from shlex import join
from textwrap import indent
from typing import Any

from ..addresses import absolute, display_name
from ..config import Settings
from ..errors import MissingStoreError
from ..paths import is_in
from ..storage.source import Source, real_path
from ..surface import opening, workspaces
from ..surface.arguments import Parser, examples
from ..surface.opening import open_store
from ..surface.streams import (
    output,
    print_advice,
    print_answer,
    print_message,
    print_model_advice,
    printable,
    single_line,
)
from ..surface.terminal import can_ask, confirm, progress_line
from ..sync.ingest import Ingest, remember
from ..sync.reading import cores
from ..text.characters import plural
from .agent_text import paragraph
from .connect import memory_options
from .environment import program
from .places import (
    FILE,
    FOLDER,
    NOTES,
    OF_HOST,
    SESSIONS,
    VAULT,
    NotesPlace,
    Surroundings,
    numbered,
    surroundings,
)

NAMED = 8  # places listed in one line
AWAIT = "There are no notes yet. Ingest those that an agent will write here?"

KINDS = {
    VAULT: "Obsidian vault",
    FOLDER: "notes",
    FILE: "note",
    OF_HOST: "notes of an agent",
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
    usual = opening.settings(args)
    settings = _with_separate_memory(args, usual)
    plan = surroundings(args.dir, _sources(args))
    if sys.stdout.isatty() and not args.json:
        _show(args, settings, plan)
    is_agreed = _agrees(args, plan)
    chosen = plan.new_notes if is_agreed else []
    if is_agreed or not plan.new_notes:
        chosen = chosen + _chosen_sessions(args, plan)
    reports = _ingest(args, chosen) if chosen else []
    is_waiting = bool(plan.awaited) and is_agreed
    if is_waiting:
        _await(args, plan.awaited)
    if not opening.is_chosen(usual) and _sources(args):
        workspaces.record(real_path(args.dir), absolute(settings["db_path"]))
    answer = _answer(args, settings, plan, chosen, reports)
    print_answer(args, answer, lambda stream: print(_next_steps(answer), end="", file=stream))
    print_message(*_remarks(args, plan, chosen, is_waiting))
    asks_for_sessions = args.sessions or any(place.kind == SESSIONS for place in chosen)
    if plan.unknown_sessions and asks_for_sessions:
        print_advice(args, _unknown_sessions_line(plan.unknown_sessions))
    if plan.left_out:
        print_advice(args, _left_out_line(plan.left_out))
    is_complete = (plan.notes or is_waiting) and (is_agreed or not plan.new_notes)
    return 1 if not is_complete or any(report["errors"] for report in reports) else 0


def _answer(
    args: Namespace,
    settings: Settings,
    plan: Surroundings,
    chosen: Sequence[NotesPlace],
    reports: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    skipped = [place for place in plan.new if place not in chosen]
    answer = {
        "dir": os.path.abspath(args.dir),
        "db_path": display_name(absolute(settings["db_path"])),
        "found": [
            _as_json(place) | {"taken": place in chosen, "in_memory": place not in skipped}
            for place in plan.places
        ],
        "left_out": [_as_json(place) for place in plan.left_out],
        "unknown_sessions": plan.unknown_sessions,
        "reports": reports,
    }
    if len(skipped) < len(plan.places):
        answer |= _next_commands(args, settings)
    return answer


def _with_separate_memory(args: Namespace, settings: Settings) -> Settings:
    """Return the settings; with a separate memory for this workspace if the user chose none and the
    default memory has only notes of other workspaces.
    """
    if opening.origin(settings, "db_path") != opening.DEFAULT:
        return settings
    top = real_path(args.dir)
    sources = _sources(args)
    if not sources or workspaces.memory_of(top) or any_near(sources, top):
        return settings
    usual = absolute(settings["db_path"])
    # Beside the usual one, named after the folder of the workspace
    for name in numbered(os.path.basename(top) or "workspace"):
        args.db = os.path.join(os.path.dirname(usual), f"{name}.db")
        settings = opening.settings(args)
        sources = _sources(args)
        if any_near(sources, top) or (not sources and not os.path.exists(args.db)):
            break
    print_advice(
        args,
        f"{display_name(usual)} has the notes of another workspace, so this one gets a separate memory, "
        f"{display_name(args.db)}; use --db {display_name(usual)} to ingest it there",
    )
    return settings


def any_near(sources: Iterable[Source], top: str) -> bool:
    """Whether any source is in a folder, or around it."""
    return any(is_in(source.path, top) or is_in(top, source.path) for source in sources)


def _sources(args: Namespace) -> list[Source]:
    """Return the sources that were ingested before. Creates no database."""
    try:
        with open_store(args) as store:
            return store.storage.sources.all()
    except MissingStoreError:
        return []


def _agrees(args: Namespace, plan: Surroundings) -> bool:
    """Whether the user agrees to ingest the new notes; without any notes, those of the future."""
    if not plan.new_notes and (plan.notes or not plan.awaited):
        return True
    question = f"Ingest {_file_count(plan.new_notes)}?" if plan.new_notes else AWAIT
    return args.yes or (can_ask(args) and confirm(question))


def _chosen_sessions(args: Namespace, plan: Surroundings) -> list[NotesPlace]:
    """The new folders of transcripts: they are private, so the user agrees to them separately."""
    sessions = [place for place in plan.new if place.kind == SESSIONS]
    question = f"Also ingest {_file_count(sessions)} of sessions? Recognised secrets are masked."
    if sessions and (args.sessions or (can_ask(args) and confirm(question, False))):
        return sessions
    return []


def _await(args: Namespace, places: Iterable[NotesPlace]) -> None:
    """Make places that have no notes yet sources, so that an update finds later ones."""
    with open_store(args, create=True) as store:
        for place in places:
            is_file = place.kind == FILE
            remember(store, Source(place.path, place.own_collection, is_file, place.patterns))


def _ingest(args: Namespace, places: Sequence[NotesPlace]) -> list[dict[str, Any]]:
    """Return one report for all notes without a collection, and one for each other place."""
    together = [place for place in places if place.collection is None]
    apart = [[place] for place in places if place.collection is not None]
    reports = []
    with open_store(args, create=True) as store, progress_line(args.quiet) as progress:
        is_first = store.storage.chunks.count() == 0
        for group in filter(None, [together, *apart]):
            like = group[0]
            job = Ingest(
                store,
                patterns=like.patterns or NOTES,
                incremental=True,
                workspace=like.workspace,
                keep_missing=like.kind == SESSIONS,  # agents delete old ones
                workers=cores(),
                progress=progress,
            )
            reports.append(job.run([place.path for place in group], like.collection))
        for report in reports:
            print_message(*report.error_lines())
            print_advice(args, *report.warning_lines(), *report.advice_lines())
        if is_first and any(report.files for report in reports):
            print_model_advice(args, store)
    return [report.as_dict() for report in reports]


def _next_commands(args: Namespace, settings: Settings) -> dict[str, Any]:
    """Return the next commands, and lines for AGENTS.md and a crontab that work from any folder."""
    options = _chosen_options(args, settings)
    short = join([*program(), *options])
    full = join([*program(for_cron=True), *options])
    cron = f"0 */6 * * *  {full} update --quiet >/dev/null"
    search = f'{short} search "what you want to know"'
    return {
        "next": [search, f"{short} list --limit 10", f"{short} doctor", f"{short} connect"],
        "agents_md": paragraph(short),
        "crontab": cron.replace("%", r"\%"),  # cron turns a bare % into a line break
    }


def _chosen_options(args: Namespace, settings: Settings) -> list[str]:
    """Return the options that the next commands need to use the same memory."""
    options = memory_options(args, settings, "--db", "HYBRID_MEMORY_DB_PATH", opening.WORKSPACE)
    for key in ("space", "provider"):
        if opening.origin(settings, key) == f"--{key}":
            options += [f"--{key}", settings[key]]
    return options


def _as_json(place: NotesPlace) -> dict[str, Any]:
    return {"path": place.path, "kind": place.kind, "files": place.files, "bytes": place.size}


def _show(args: Namespace, settings: Settings, plan: Surroundings) -> None:
    lines = [f"Searched {_abbreviated(os.path.abspath(args.dir))}, and the home for sessions."]
    for place in plan.places:
        state = "" if place in plan.new else "; already ingested"
        if place.collection and place.kind != SESSIONS:
            state = f"; as the collection {single_line(place.collection)}"
        size = f"{_file_count([place])}, {_bytes(place.size)}"
        lines.append(f"  {_abbreviated(place.path)}  ({KINDS[place.kind]}, {size}{state})")
    lines.append(f"The memory is {_abbreviated(display_name(settings['db_path']))}.")
    with output() as stream:
        print(*lines, sep="\n", file=stream)


def _left_out_line(places: Sequence[NotesPlace]) -> str:
    names = [f"{os.path.basename(place.path)} ({_file_count([place])})" for place in places]
    return (
        f"left out: {_first(names, 'place')}; skills and ignored files are no notes; "
        "`hybrid-memory ingest --path PATH` adds any of them"
    )


def _unknown_sessions_line(paths: Sequence[str]) -> str:
    """A line about transcripts that do not record where their session began."""
    names = _first([os.path.basename(path) for path in paths], "transcript")
    problem = plural(len(paths), "transcript does not record", "transcripts do not record")
    return (
        f"left out: {names}; {problem} the folder in which the session began; "
        "ingest one with `hybrid-memory ingest --path FILE`"
    )


def _first(names: Sequence[str], noun: str) -> str:
    """The first names, and the number of the others."""
    more = len(names) - NAMED
    return ", ".join([*names[:NAMED], *([plural(more, f"more {noun}")] if more > 0 else [])])


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


def _remarks(
    args: Namespace, plan: Surroundings, chosen: Sequence[NotesPlace], is_waiting: bool
) -> Iterator[str]:
    if is_waiting and not plan.notes:
        yield "there are no notes yet; `hybrid-memory update` will ingest those written here"
    elif not plan.notes:
        yield (
            f"there is no markdown in {args.dir}; for other files, run for example "
            '`hybrid-memory ingest --path DIR --pattern "*.txt"`'
        )
    elif not plan.new:
        yield "everything is already ingested; run `hybrid-memory update` to read changed files"
    skipped = [place for place in plan.new if place not in chosen]
    if any(place.kind != SESSIONS for place in skipped):
        yield "nothing was changed; use --yes to ingest the notes without a question"
    elif skipped and not args.sessions:
        yield "session transcripts are private and were left out; use --sessions to ingest them"


def _file_count(places: Iterable[NotesPlace]) -> str:
    return plural(sum(place.files for place in places), "file")


def _bytes(size: int) -> str:
    if size < 1_000_000:
        return f"{ceil(size / 1000)} KB"
    return f"{size / 1e6:,.1f} MB"


def _abbreviated(path: str) -> str:
    """A path to print, with ~ for the home."""
    home = os.path.join(os.path.expanduser("~"), "")
    return single_line(f"~/{path.removeprefix(home)}" if path.startswith(home) else path)
