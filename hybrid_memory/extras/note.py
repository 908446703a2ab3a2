"""The command `note`: append a line to today's note of a workspace and ingest the note.

An agent thus writes to a file that people can read and edit. In an Obsidian vault with settings for
daily notes, this is the note that Obsidian would open today.
"""

import os
import re
from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from ..documents.files import vault_settings
from ..documents.structure import markdown_structure
from ..errors import BusyStoreError, HybridMemoryError, MissingStoreError, SourceError
from ..paths import is_in
from ..storage.source import Source, real_path
from ..store import HybridStore
from ..surface.arguments import Parser, examples
from ..surface.opening import open_store
from ..surface.streams import print_with_warnings
from ..sync.ingest import Ingest
from ..sync.refresh import refresh
from ..text.characters import citation
from ..text.languages import full_names, languages
from .corrections import Cited, cited, correct, is_reached_by_link
from .edits import append

OpenStore = Callable[[], AbstractContextManager[HybridStore]]

FOLDER = "memory"
NOTES = "Notes"  # the heading of the lines
DAILY_NOTES = "daily-notes.json"
FORMAT = "YYYY-MM-DD"  # Obsidian's default
DAYS_CHECKED = 60  # days, today included, whose notes are checked for the language of their names
# A part of a moment.js format: text in brackets, letters, or one other character
PART = re.compile(r"\[([^\[\]]*)\]|Do|([A-Za-z])\2*|.", re.DOTALL)


def note_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] TEXT ..."
    parser.add_argument("words", nargs="+", metavar="TEXT", help="the text of the note")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="the workspace or vault (default: the one around the working directory, or the "
        "only ingested one)",
    )
    parser.add_argument(
        "--replaces",
        metavar="CITATION",
        help="the line that TEXT replaces: it is struck through, and TEXT follows it there, or in "
        "today's note if that file cannot be edited",
    )
    examples(parser, 'note "SSH on atlas listens on port 2222 now."', 'note --dir ~/work "Done."')


def run_note(args: Namespace) -> int:
    args.workspace = args.dir or "."
    create = partial(open_store, args, create=True)
    text = " ".join(args.words)
    answer = write_note(partial(open_store, args), create, text, args.dir, replaces=args.replaces)
    print_with_warnings(args, answer)
    return 0


def write_note(
    open_store: OpenStore,
    create_store: OpenStore,
    text: str,
    workspace: str | None = None,
    *,
    replaces: str | None = None,
) -> dict[str, Any]:
    """Append a line to today's note and ingest the note: memory/YYYY-MM-DD.md in a workspace, or
    the daily note of a vault. A line that the note ends with is not repeated.

    With `replaces`, a citation, strike through the cited line and add the text to it. If its file
    is not a note of the workspace or vault, or cannot be edited, today's note gets both.

    Return the `path`, the first added `line` (counted from 1), the `citation` (None if the note
    could not be ingested), with `replaces` the citation `replaced`, and `warnings`. Raises
    SourceError if there is no workspace, or if links lead out of it, HybridMemoryError if the file
    cannot be written; then no database is created.
    """
    text = text.strip()
    if not text:
        raise SourceError("the note is empty")
    former = None
    if replaces is not None:
        with open_store() as store:
            former = cited(store, replaces, text)
    sources = _sources(open_store)
    folder = _folder([source.path for source in sources if not source.is_file], workspace)
    added = _in_place(former, text, folder) if former else None
    if added:
        notes_folder = os.path.dirname(added.path)
    else:
        if former:
            text = f"~~{former.statement(text)}~~ {text}"
        added, notes_folder = _appended(folder, text)
    told = _ingested(create_store, sources, added, notes_folder)
    replaced = {"replaced": former.citation} if former else {}
    return {"path": added.path, "line": added.first, **replaced, **told}


class Added(NamedTuple):
    """Lines of a file. `is_new`: they were not there before."""

    path: str
    first: int
    last: int
    is_new: bool = True


def _in_place(former: Cited, text: str, folder: "str | Vault") -> Added | None:
    """Correct a line of a note in the workspace or vault; None if it is not in one."""
    top = folder.path if isinstance(folder, Vault) else os.path.dirname(folder)
    if former.path is None or is_reached_by_link(former.path, top):
        return None
    lines = correct(former, text)
    return Added(former.path, former.start, former.start + lines - 1) if lines else None


def _appended(folder: "str | Vault", text: str) -> tuple[Added, str]:
    """Append a line to today's note. Return its place, and the folder of daily notes."""
    now = datetime.now()
    if isinstance(folder, Vault):
        path = folder.note(now)
        initial_text = ""
        top, folder = folder.path, folder.folder
    else:
        path = os.path.join(folder, f"{now:%Y-%m-%d}.md")
        initial_text = f"# {now:%Y-%m-%d}\n\n"
        top = folder
    if is_reached_by_link(path, top):
        raise SourceError(f"{path} is reached by a symbolic link that leads out of {top}")
    return _append(path, text, initial_text, now), folder


def _ingested(
    create_store: OpenStore, sources: list[Source], added: Added, folder: str
) -> dict[str, Any]:
    """Ingest a file that was written. Return the `citation` of the lines, and `warnings`."""
    path = added.path
    containing = [source.path for source in sources if is_in(path, source.path)]
    doc_id = None
    # A bare error would make an agent write the note again
    later = f"written to {path}; in the memory after the next update"
    try:
        with create_store() as store:
            if containing:
                report = refresh(store, paths=containing)
                is_busy = any(warning["kind"] == "busy" for warning in report.warnings)
                warnings = [later] if is_busy else report.warning_lines()
            else:
                report = Ingest(store, incremental=True).run([folder])
                warnings = [*report.error_lines(), *report.warning_lines()]
            doc_id = store.storage.catalog.by_path(path)
    except BusyStoreError:
        warnings = [later]
    except HybridMemoryError as error:
        warnings = [f"the note was written to {path}, but could not be ingested: {error}"]
    if not added.is_new:
        warnings = ["this line is there already; it was not written again", *warnings]
    place = None
    if doc_id:
        place = citation(doc_id, added.first, added.last)
    return {"citation": place, "warnings": list(warnings)}


def _sources(open_store: OpenStore) -> list[Source]:
    try:
        with open_store() as store:
            return list(store.storage.sources.all())
    except MissingStoreError:
        return []


class Vault(NamedTuple):
    """A vault with settings for daily notes: their folder, and the format of their names."""

    path: str
    folder: str
    format: str

    def note(self, now: datetime) -> str:
        """Return the path of today's note. Raises SourceError for a path outside the vault, and for a
        format that names more than days, weeks, months and years.

        Names of days and months are in the language of the most recent notes, or in English if
        these do not determine one language.
        """
        for back in range(DAYS_CHECKED):
            day = now - timedelta(back)
            matching = [
                code for code in _languages_of_names() if os.path.exists(self._path(day, code))
            ]
            if len(matching) == 1 or (matching and back == 0):
                return self._path(now, matching[0])
        return self._path(now, "en")

    def _path(self, day: datetime, language: str) -> str:
        name = formatted(self.format, day, language).strip("/")
        path = os.path.normpath(os.path.join(self.folder, f"{name.removesuffix('.md')}.md"))
        if not is_in(path, self.path):
            raise SourceError(
                f"the daily notes of {self.path} would be outside the vault; "
                f"check .obsidian/{DAILY_NOTES}"
            )
        return path


def _languages_of_names() -> list[str]:
    """The codes of the languages whose names of months and weekdays are known."""
    return [code for code, language in languages().items() if "weekdays" in language]


def vault_at(path: str) -> Vault | None:
    """Return the vault at this folder; None if it is not a vault with settings for daily notes."""
    if not os.path.isfile(os.path.join(path, ".obsidian", DAILY_NOTES)):
        return None
    settings = vault_settings(path, DAILY_NOTES)
    folder = os.path.normpath(os.path.join(path, str(settings.get("folder") or "").strip("/")))
    return Vault(path, folder, str(settings.get("format") or FORMAT))


def formatted(pattern: str, day: datetime, language: str = "en") -> str:
    """Format a day in moment.js format. Short names are English in every language.

    'YYYY/MM/YYYY-MM-DD dddd' -> '2026/11/2026-11-24 Tuesday'

    Raises SourceError for parts that are not of a date, because the note that Obsidian would open
    is then not known.
    """
    month, weekday = day.month - 1, day.weekday()
    year, week, _ = day.isocalendar()
    parts = {
        "YYYY": f"{day:%Y}",
        "YY": f"{day:%y}",
        "M": f"{day.month}",
        "MM": f"{day:%m}",
        "MMM": full_names("months", "en")[month][:3],
        "MMMM": full_names("months", language)[month],
        "D": f"{day.day}",
        "DD": f"{day:%d}",
        "ddd": full_names("weekdays", "en")[weekday][:3],
        "dddd": full_names("weekdays", language)[weekday],
        "GGGG": f"{year}",
        "W": f"{week}",
        "WW": f"{week:02}",
    }

    def written(part: re.Match[str]) -> str:
        if part[1] is not None:
            return part[1]
        if not part[0].isascii() or not part[0].isalpha():
            return part[0]
        if part[0] not in parts:
            raise SourceError(
                f"the names of daily notes have {part[0]!r} in their format {pattern!r}; "
                f"known are {', '.join(parts)}, and text in brackets: check .obsidian/{DAILY_NOTES}"
            )
        return parts[part[0]]

    return PART.sub(written, pattern)


def _folder(sources: list[str], workspace: str | None) -> str | Vault:
    """Return the folder of the daily notes, or the vault that defines it. Raises SourceError."""
    here = real_path(workspace or ".")
    if workspace is not None and not os.path.isdir(here):
        raise SourceError(f"{here} is not a folder; create it, or choose another one with --dir")
    notes_folder = os.path.join(here, FOLDER)
    vault = vault_at(here)
    if vault:
        return vault
    if workspace is not None or os.path.isdir(notes_folder):
        return notes_folder
    vaults = {source: vault_at(source) for source in sources}
    folders = [source for source in sources if vaults[source] or os.path.basename(source) == FOLDER]
    containing = [
        folder
        for folder in folders
        if is_in(here, folder if vaults[folder] else os.path.dirname(folder))
    ]
    # The working directory does not decide: prefer folders of notes to vaults
    others = [folder for folder in folders if not vaults[folder]] or folders
    if containing or len(others) == 1:
        nearest = max(containing or others, key=len)
        return vaults[nearest] or nearest
    raise SourceError(
        f"cannot decide where to write: {here} has no folder {FOLDER}, and not exactly one such "
        "folder or vault is ingested; name the workspace: `hybrid-memory note --dir DIR TEXT`"
    )


def _append(path: str, text: str, initial_text: str, now: datetime) -> Added:
    """Append a list item to a file, unless the file ends with this text, and return its lines.
    Raises HybridMemoryError.

    A missing or empty file begins with `initial_text`. The item is below the title of the file, or
    below the heading NOTES, which is added unless the file ends with its section.
    """
    body = "\n  ".join(text.splitlines())
    item = f"- {now:%H:%M} {body}"
    same = re.compile(rf"^- \d\d:\d\d {re.escape(body)}\s*\Z", re.MULTILINE)

    def above(before: str) -> str:
        """What to add between the text of the file and the item."""
        if not before:
            start = initial_text
        elif before.endswith("\n"):
            start = ""
        else:
            start = "\n"
        text = before + start
        headings = markdown_structure(f"\n{text}").headings
        has_only_title = len(headings) == 1 and headings[0].level == 1
        if not headings or has_only_title or headings[-1].title == NOTES:
            return start
        blank_line = "" if text.endswith("\n\n") else "\n"
        return f"{start}{blank_line}## {NOTES}\n\n"

    before = append(path, lambda before: "" if same.search(before) else f"{above(before)}{item}\n")
    there = same.search(before)
    text_above = before[: there.start()] if there else f"{before}{above(before)}"
    first = text_above.count("\n") + 1
    return Added(path, first, first + item.count("\n"), is_new=there is None)
