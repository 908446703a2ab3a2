"""The command `note`: adds a line to today's note of a workspace, and takes it in.

What an agent writes is then a file that people can read and change.
"""

import os
from argparse import Namespace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..errors import SourceError
from ..storage.source import is_in, real_path
from ..surface.arguments import Parser, examples, open_store
from ..surface.streams import print_with_warnings
from ..sync.ingest import Ingest
from ..sync.refresh import refresh
from ..text.characters import citation

if TYPE_CHECKING:
    from ..store import HybridStore

FOLDER = "memory"


def note_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] TEXT ..."
    parser.add_argument("words", nargs="+", metavar="TEXT", help="what to note")
    parser.add_argument(
        "--dir",
        metavar="DIR",
        help="the workspace (default: that of an ingested folder memory around or in the working directory)",
    )
    examples(parser, 'note "SSH on atlas listens on port 2222 now."', 'note --dir ~/work "Done."')


def run_note(args: Namespace) -> int:
    args.workspace = args.dir or "."
    with open_store(args, create=True) as store:
        answer = write_note(store, " ".join(args.words), args.dir)
    print_with_warnings(args, answer)
    return 0


def write_note(store: "HybridStore", text: str, workspace: str | None = None) -> dict[str, Any]:
    """Add a line to today's note, memory/YYYY-MM-DD.md of a workspace, and take the note in.

    Return the `path`, the first `line` that was added (counted from 1), the `citation`, which is
    None if the note could not be taken in, and `warnings`. Raises SourceError if there is no
    workspace, or the file cannot be written.
    """
    if not text.strip():
        raise SourceError("the note is empty")
    sources = [source.path for source in store.storage.sources.all() if not source.is_file]
    folder = _folder(sources, workspace)
    now = datetime.now()
    path = os.path.join(folder, f"{now:%Y-%m-%d}.md")
    first, last = _append(path, text.strip(), now)
    around = [source for source in sources if is_in(path, source)]
    if around:
        warnings = refresh(store, paths=around).warning_lines()
    else:
        report = Ingest(store, incremental=True).run([folder])
        warnings = [*report.error_lines(), *report.warning_lines()]
    doc_id = store.storage.catalog.by_path(path, path)
    place = None
    if doc_id:
        place = citation(doc_id, first, last)
    return {"path": path, "line": first, "citation": place, "warnings": list(warnings)}


def _folder(sources: list[str], workspace: str | None) -> str:
    """Return the folder of daily notes. Raises SourceError."""
    here = real_path(workspace or ".")
    below = os.path.join(here, FOLDER)
    if workspace is not None or os.path.isdir(below):
        return below
    folders = [source for source in sources if os.path.basename(source) == FOLDER]
    around = [folder for folder in folders if is_in(here, os.path.dirname(folder))]
    if around:
        return max(around, key=len)
    if len(folders) == 1:
        return folders[0]
    raise SourceError(
        f"there is no folder {FOLDER} in {here}, and not one alone is ingested; "
        "name the workspace: `hybrid-memory note --dir DIR TEXT`"
    )


def _append(path: str, text: str, now: datetime) -> tuple[int, int]:
    """Add an item to a list at the end of a file, which is made if there is none. Return its first
    and last line. Raises SourceError.
    """
    item = f"- {now:%H:%M} " + "\n  ".join(text.splitlines())
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a+", encoding="utf-8", newline="\n") as file:
            file.seek(0)
            before = file.read()
            if not before:
                before = f"# {now:%Y-%m-%d}\n\n"
                file.write(before)
            elif not before.endswith("\n"):
                before += "\n"
                file.write("\n")
            file.write(f"{item}\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"cannot write {path}: {error}") from error
    first = before.count("\n") + 1
    return first, first + item.count("\n")
