"""The standard streams of a command, and texts that are safe on a terminal.

A stream that cannot be written is reported on standard error, if possible. Control characters,
which a terminal would obey, and marks that change the direction of text are never printed.
"""

import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import HybridMemoryError

if TYPE_CHECKING:
    from ..store import HybridStore

_DIRECTIONS = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROL: dict[int, str | None] = {
    code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if code != 0x09
}
# A bare CR would let the rest of its line overwrite the beginning.
_CONTROL |= dict.fromkeys((0x0A, 0x0D, 0x2028, 0x2029), "\n")
_CONTROL |= dict.fromkeys(_DIRECTIONS)
# JSON itself escapes characters below U+0020.
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, *_DIRECTIONS)}


def printable(text: str) -> str:
    """Replace control characters with U+FFFD and line endings with line feeds, and remove marks of
    direction.
    """
    return text.replace("\r\n", "\n").translate(_CONTROL)


def single_line(text: str) -> str:
    """Make the text printable on one line."""
    return re.sub(r"\s+", " ", printable(text))


def json_text(value: Any, indent: int | None = None) -> str:
    r"""JSON with escapes such as \u009b for characters that a terminal would obey. Programs read
    the same value.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return text.translate(_ESCAPES)


def json_line(value: Any) -> str:
    """`json_text` without spaces between the parts."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_ESCAPES)


def json_lines(values: Iterable[Any]) -> str:
    """A JSON list with one value per line: short, but readable line by line."""
    lines = ",\n".join(map(json_line, values))
    return f"[\n{lines}\n]" if lines else "[]"


# Name, descriptor, and flags of the null device that replaces a closed stream. Writing to a closed
# standard output must be an error, so its replacement is read-only.
STREAMS = (
    ("stdin", 0, os.O_RDONLY, "r"),
    ("stdout", 1, os.O_RDONLY, "w"),
    ("stderr", 2, os.O_WRONLY, "w"),
)


def prepare() -> None:
    """Replace closed streams, and make the output streams print every character.

    A closed standard input is empty. Output to a closed standard error is lost; output to a closed
    standard output is an error.
    """
    for name, descriptor, flags, mode in STREAMS:
        if getattr(sys, name) is None:
            # The free descriptor, or the next opened file would get it. Child processes inherit it
            os.set_inheritable(os.open(os.devnull, flags), True)
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # An unpaired surrogate is printed as \udcff, as JSON writes it.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def choose_colours(when: str | None) -> None:
    """Apply --color to this process and its children, by the usual environment variables."""
    if when is not None:
        for name, value in (("NO_COLOR", "never"), ("FORCE_COLOR", "always")):
            os.environ.pop(name, None)
            if when == value:
                os.environ[name] = "1"


@contextmanager
def output() -> Iterator[TextIO]:
    """Yield standard output, for the whole answer. Raises HybridMemoryError if it cannot be
    written.

    If the reader of a pipe has gone, as `| head` does when it has enough, the rest of the answer is
    silently dropped.
    """
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            reason = error.strerror or error
            raise HybridMemoryError(f"cannot write to standard output: {reason}") from error


def print_message(*messages: str) -> None:
    """Print each message as a line on standard error."""
    try:
        for message in messages:
            line = f"hybrid-memory: {single_line(message).strip()}"
            if sys.stderr.isatty():
                line = _wrapped(line, columns(2))
            print(line, file=sys.stderr, flush=True)
    except OSError:  # nobody can read it
        _discard(sys.stderr)


def columns(descriptor: int) -> int:
    """The width of a terminal; 80 if it is unknown."""
    try:
        chosen = int(os.environ.get("COLUMNS") or 0)
        return chosen or os.get_terminal_size(descriptor).columns or 80
    except (ValueError, OSError):  # COLUMNS is not a number; the stream is not a terminal
        return 80


def _wrapped(line: str, width: int) -> str:
    """Break a line at spaces, but not inside a command in backquotes that fits on a line."""
    from ..text.characters import wrapped

    def keep_together(command: re.Match[str]) -> str:
        return command[0] if len(command[0]) > width else command[0].replace(" ", "\0")

    lines = wrapped(re.sub("`[^`]*`", keep_together, line), width)
    return "\n".join(lines).replace("\0", " ")


def _discard(stream: TextIO) -> None:
    """Drop the stream's buffer, or Python would try to write it again at exit."""
    with suppress(OSError):  # a stream of a test may have no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_answer(
    args: Namespace, answer: Any, show: Callable[[TextIO], None] | None = None
) -> None:
    """Print the answer as JSON, or on a terminal by `show`, unless --json was given."""
    with output() as stream:
        if show and stream.isatty() and not args.json:
            show(stream)
        else:
            print(json_text(answer, indent=2), file=stream)


def print_with_warnings(
    args: Namespace, answer: dict[str, Any], show: Callable[[TextIO], None] | None = None
) -> None:
    """Print the `warnings` of an answer on standard error, and the rest as `print_answer` does."""
    print_advice(args, *answer.pop("warnings"))
    print_answer(args, answer, show)


def print_advice(args: Namespace, *lines: str) -> None:
    """Print progress, advice or warnings on standard error, unless --quiet. Errors are printed by
    `print_message`.
    """
    if not args.quiet:
        print_message(*lines)


def print_model_advice(args: Namespace, store: "HybridStore") -> None:
    """Print advice on a better model for this store, if there is any."""
    print_advice(args, *filter(None, [store.advice]))
