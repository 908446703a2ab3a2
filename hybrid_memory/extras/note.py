"""The command `note`: append a line to today's note of a workspace and ingest the note.

An agent thus writes to a file that people can read and edit. In an Obsidian vault with settings for
daily notes, this is the note that Obsidian would open today.
"""

import os
import re
from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..documents.files import BadFileError, open_regular, vault_settings
from ..documents.structure import markdown_structure
from ..errors import HybridMemoryError, MissingStoreError, SourceError
from ..storage.source import is_in, real_path
from ..surface.arguments import Parser, examples
from ..surface.opening import open_store
from ..surface.streams import print_with_warnings
from ..sync.ingest import Ingest
from ..sync.refresh import refresh
from ..text.characters import citation
from .edits import append

if TYPE_CHECKING:
    from ..store import HybridStore

OpenStore = Callable[[], AbstractContextManager["HybridStore"]]

FOLDER = "memory"
NOTES = "Notes"  # the heading of the lines
DAILY_NOTES = "daily-notes.json"
FORMAT = "YYYY-MM-DD"  # Obsidian's default
DAYS_CHECKED = 60  # days, today included, whose notes are checked for the language of their names
LARGEST_TEMPLATE = 1_000_000  # bytes
# Full names of the days of the week, then of the months
NAMES = {
    "en": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April "
    "May June July August September October November December",
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag Januar Februar März April "
    "Mai Juni Juli August September Oktober November Dezember",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril mai "
    "juin juillet août septembre octobre novembre décembre",
    "es": "lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo "
    "junio julio agosto septiembre octubre noviembre diciembre",
    "it": "lunedì martedì mercoledì giovedì venerdì sabato domenica gennaio febbraio marzo aprile "
    "maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag januari februari maart april "
    "mei juni juli augustus september oktober november december",
    "pt": "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo janeiro "
    "fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
}
# Tokens of a moment.js date format, which Obsidian uses. Text in brackets is literal, and so is
# anything else that is not a token.
TOKEN = re.compile(
    r"\[([^\[\]]*)\]|YYYY|YY|Q|MMMM|MMM|MM|M|DDDD|DDD|DD|Do|D|dddd|ddd|dd|d|E|GGGG|gggg|WW|W|ww|w"
    r"|HH|H|hh|h|mm|m|ss|s|A|a"
)
FIELD = re.compile(r"\{\{\s*(date|time|title)\s*(?::([^{}]*))?\}\}")  # in a template


def note_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] TEXT ..."
    parser.add_argument("words", nargs="+", metavar="TEXT", help="the text of the note")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="the workspace or vault (default: the one around the working directory, or the "
        "only ingested one)",
    )
    examples(parser, 'note "SSH on atlas listens on port 2222 now."', 'note --dir ~/work "Done."')


def run_note(args: Namespace) -> int:
    args.workspace = args.dir or "."
    create = partial(open_store, args, create=True)
    print_with_warnings(
        args, write_note(partial(open_store, args), create, " ".join(args.words), args.dir)
    )
    return 0


def write_note(
    open_store: OpenStore, create_store: OpenStore, text: str, workspace: str | None = None
) -> dict[str, Any]:
    """Append a line to today's note and ingest the note: memory/YYYY-MM-DD.md in a workspace, or
    the daily note of a vault.

    Return the `path`, the first added `line` (counted from 1), the `citation` (None if the note
    could not be ingested) and `warnings`. Raises SourceError if there is no workspace,
    HybridMemoryError if the file cannot be written; then no database is created.
    """
    if not text.strip():
        raise SourceError("the note is empty")
    sources = _ingested_folders(open_store)
    folder = _folder(sources, workspace)
    now = datetime.now()
    if isinstance(folder, Vault):
        path = folder.note(now)
        initial_text = folder.initial_text(path, now)
        folder = folder.folder
    else:
        path = os.path.join(folder, f"{now:%Y-%m-%d}.md")
        initial_text = f"# {now:%Y-%m-%d}\n\n"
    first, last = _append(path, text.strip(), initial_text, now)
    containing = [source for source in sources if is_in(path, source)]
    doc_id = None
    try:
        with create_store() as store:
            if containing:
                warnings = refresh(store, paths=containing).warning_lines()
            else:
                report = Ingest(store, incremental=True).run([folder])
                warnings = [*report.error_lines(), *report.warning_lines()]
            doc_id = store.storage.catalog.by_path(path, path)
    except HybridMemoryError as error:  # a bare error would make an agent write the note again
        warnings = [f"the note was written to {path}, but could not be ingested: {error}"]
    place = None
    if doc_id:
        place = citation(doc_id, first, last)
    return {"path": path, "line": first, "citation": place, "warnings": list(warnings)}


def _ingested_folders(open_store: OpenStore) -> list[str]:
    try:
        with open_store() as store:
            return [source.path for source in store.storage.sources.all() if not source.is_file]
    except MissingStoreError:
        return []


class Vault(NamedTuple):
    """A vault with settings for daily notes: their folder, the format of their names, and the
    template.
    """

    path: str
    folder: str
    format: str
    template: str  # relative to the vault; "" without a template

    def note(self, now: datetime) -> str:
        """Return the path of today's note. Raises SourceError for a path outside the vault.

        Names of days and months are in the language of the most recent notes, or in English if
        these do not determine one language.
        """
        for back in range(DAYS_CHECKED):
            day = now - timedelta(back)
            matching = [name for name in NAMES if os.path.exists(self._path(day, name))]
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

    def initial_text(self, path: str, now: datetime) -> str:
        """Return the initial text of a new note: the template, filled in as Obsidian does."""
        if not self.template:
            return ""
        template = os.path.join(self.path, f"{self.template.removesuffix('.md')}.md")
        text = ""
        with (
            suppress(OSError, ValueError, BadFileError),
            open_regular(template, follow_symlinks=False) as file,
        ):
            text = file.read(LARGEST_TEMPLATE).decode()
        title = os.path.basename(path).removesuffix(".md")
        formats = {"date": FORMAT, "time": "HH:mm"}

        def value(field: re.Match[str]) -> str:
            if field[1] == "title":
                return title
            return formatted(field[2] or formats[field[1]], now)

        text = FIELD.sub(value, text)
        return text if text.endswith("\n") or not text else f"{text}\n"


def vault_at(path: str) -> Vault | None:
    """Return the vault at this folder; None if it is not a vault with settings for daily notes."""
    if not os.path.isfile(os.path.join(path, ".obsidian", DAILY_NOTES)):
        return None
    settings = vault_settings(path, DAILY_NOTES)
    folder = os.path.normpath(os.path.join(path, str(settings.get("folder") or "").strip("/")))
    template = str(settings.get("template") or "").strip("/")
    return Vault(path, folder, str(settings.get("format") or FORMAT), template)


def formatted(pattern: str, day: datetime, language: str = "en") -> str:
    """Format a day in moment.js format. Short names are English in every language.

    'YYYY/MM/YYYY-MM-DD dddd' -> '2026/11/2026-11-24 Tuesday'
    """
    names = NAMES[language].split()
    weekday, month = names[day.weekday()], names[6 + day.month]
    english = NAMES["en"].split()
    short_day, short_month = english[day.weekday()], english[6 + day.month]
    year, week, number = day.isocalendar()
    hour = day.hour % 12 or 12
    noon = "AM" if day.hour < 12 else "PM"
    ordinal = "th"
    if day.day not in (11, 12, 13):
        ordinal = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    day_of_year = day.timetuple().tm_yday
    parts = {
        "YYYY": f"{day:%Y}",
        "YY": f"{day:%y}",
        "Q": f"{(day.month + 2) // 3}",
        "M": f"{day.month}",
        "MM": f"{day:%m}",
        "MMM": short_month[:3],
        "MMMM": month,
        "D": f"{day.day}",
        "DD": f"{day:%d}",
        "Do": f"{day.day}{ordinal}",
        "DDD": f"{day_of_year}",
        "DDDD": f"{day_of_year:03}",
        "d": f"{number % 7}",
        "dd": short_day[:2],
        "ddd": short_day[:3],
        "dddd": weekday,
        "E": f"{number}",
        "GGGG": f"{year}",
        "gggg": f"{year}",
        "W": f"{week}",
        "WW": f"{week:02}",
        "w": f"{week}",
        "ww": f"{week:02}",
        "H": f"{day.hour}",
        "HH": f"{day:%H}",
        "h": f"{hour}",
        "hh": f"{hour:02}",
        "m": f"{day.minute}",
        "mm": f"{day:%M}",
        "s": f"{day.second}",
        "ss": f"{day:%S}",
        "A": noon,
        "a": noon.lower(),
    }
    return TOKEN.sub(lambda match: match[1] if match[1] is not None else parts[match[0]], pattern)


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


def _append(path: str, text: str, initial_text: str, now: datetime) -> tuple[int, int]:
    """Append a list item to a file and return its first and last line. Raises HybridMemoryError.

    A missing or empty file begins with `initial_text`. The item is below the title of the file, or
    below the heading NOTES, which is added unless the file ends with its section.
    """
    item = f"- {now:%H:%M} " + "\n  ".join(text.splitlines())

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

    before = append(path, lambda before: f"{above(before)}{item}\n")
    first = f"{before}{above(before)}".count("\n") + 1
    return first, first + item.count("\n")
