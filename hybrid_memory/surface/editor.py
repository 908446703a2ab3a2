"""Opens a file at a line in the user's editor."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from ..documents.formats import format_of
from ..errors import HybridMemoryError, SourceError, UsageError

# The name of the program -> its arguments for a line. Other editors get the file alone.
PLUS_LINE = ("vi", "vim", "nvim", "gvim", "nano", "emacs", "emacsclient", "micro", "kak")
COLON_LINE = ("subl", "hx", "helix", "zed")
GOTO = ("code", "code-insiders", "codium", "cursor")


def open_result(results: Sequence[Mapping[str, Any]], number: int) -> None:
    """Open the file of a result, counted from 1, at its first line, and wait until the editor ends.

    Raises UsageError if there is no such result, SourceError for a stored text or a file that is no text, HybridMemoryError if no
    editor is known or it fails.
    """
    if number > len(results):
        found = f"{len(results)} results" if len(results) != 1 else "1 result"
        raise UsageError(f"--open {number}: the search has {found}")
    result = results[number - 1]
    if result["path"] is None:
        raise SourceError(f"{result['citation']} was stored without a file; `get` reads it")
    if not format_of(result["path"]).is_text:
        raise SourceError(
            f"{result['path']} is no text for an editor; `hybrid-memory get {shlex.quote(result['citation'])}` reads it"
        )
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise HybridMemoryError("--open needs an editor; set VISUAL or EDITOR, as in `export EDITOR=nano`")
    arguments = command(editor, result["path"], result["start_line"])
    try:
        status = subprocess.run(arguments, check=False).returncode
    except OSError as error:
        raise HybridMemoryError(f"cannot start the editor {arguments[0]!r}: {error.strerror}; see VISUAL and EDITOR") from error
    if status:
        raise HybridMemoryError(f"the editor {arguments[0]!r} ended with exit status {status}")


def command(editor: str, path: str, line: int) -> list[str]:
    """The editor with its own arguments, and the file at the line if the editor's way to say that is known.

    'code -w', '/a.md', 3 -> code -w --goto /a.md:3
    """
    try:
        words = shlex.split(editor)
    except ValueError:
        words = []
    if not words:
        raise HybridMemoryError(f"VISUAL or EDITOR is not a command: {editor!r}")
    name = os.path.basename(words[0]).removesuffix(".exe")
    if name in PLUS_LINE:
        return [*words, f"+{line}", path]
    if name in GOTO:
        return [*words, "--goto", f"{path}:{line}"]
    return [*words, f"{path}:{line}" if name in COLON_LINE else path]
