"""Open the file of a result in the user's editor, at its line."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from shlex import quote, split
from typing import Any

from ..documents.formats import format_of
from ..errors import HybridMemoryError, SourceError, UsageError
from ..text.characters import plural

PLUS = ("+{line}", "{path}")
COLON = ("{path}:{line}",)
GOTO = ("--goto", "{path}:{line}")
EDITORS = {  # how each is given a line. Other editors get only the file
    **dict.fromkeys("vi vim nvim gvim nano emacs emacsclient micro kak".split(), PLUS),
    **dict.fromkeys(("subl", "hx", "helix", "zed"), COLON),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor"), GOTO),
}


def open_result(results: Sequence[Mapping[str, Any]], number: int) -> None:
    """Open the file of result `number` (counted from 1) at its first line, and wait until the
    editor exits.

    Raises UsageError if there is no such result, SourceError for a stored text or a file that is
    not plain text, HybridMemoryError if no editor is set or the editor fails.
    """
    if number > len(results):
        raise UsageError(f"--open {number}: the search has {plural(len(results), 'result')}")
    result = results[number - 1]
    if result["path"] is None:
        raise SourceError(
            f"{result['citation']} was stored without a file; read it with `hybrid-memory get`"
        )
    if not format_of(result["path"]).is_text:
        way_out = f"read it with `hybrid-memory get {quote(result['citation'])}`"
        raise SourceError(f"{result['path']} is not a text file; {way_out}")
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise HybridMemoryError(
            "--open needs an editor; set VISUAL or EDITOR, for example `export EDITOR=nano`"
        )
    arguments = command(editor, result["path"], result["start_line"])
    try:
        status = subprocess.run(arguments, check=False).returncode
    except OSError as error:
        raise HybridMemoryError(
            f"cannot start the editor {arguments[0]!r}: {error.strerror}; check VISUAL and EDITOR"
        ) from error
    if status:
        raise HybridMemoryError(f"the editor {arguments[0]!r} failed with exit status {status}")


def command(editor: str, path: str, line: int) -> list[str]:
    """Return the command that opens a file in an editor, at the line if the editor is known.

    'code -w', '/a.md', 3 -> code -w --goto /a.md:3
    """
    try:
        words = split(editor)
    except ValueError:
        words = []
    if not words:
        raise HybridMemoryError(f"VISUAL or EDITOR is not a command: {editor!r}")
    name = os.path.basename(words[0])
    arguments = EDITORS.get(name, ("{path}",))
    return [*words, *(argument.format(line=line, path=path) for argument in arguments)]
