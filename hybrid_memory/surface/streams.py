"""The standard streams of a command, and texts that are safe on a terminal.

If a stream cannot be written, that is told in a line, or to nobody. Control characters, which a
terminal would obey, and marks that change the direction of text are never printed.
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
# A bare CR would let the rest of its line cover the beginning.
_CONTROL |= dict.fromkeys((0x0A, 0x0D, 0x2028, 0x2029), "\n")
_CONTROL |= dict.fromkeys(_DIRECTIONS)
# JSON itself escapes what is below U+0020.
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), 0x2028, 0x2029, *_DIRECTIONS)}


def printable(text: str) -> str:
    """Return the text with U+FFFD for each control character, every line ended by a line feed, and no
    marks of direction.
    """
    return text.replace("\r\n", "\n").translate(_CONTROL)


def harmless(text: str) -> str:
    """Return the text, printable and on one line."""
    return re.sub(r"\s+", " ", printable(text))


def json_text(value: Any, indent: int | None = None) -> str:
    r"""Return JSON with escapes such as \u009b for what a terminal would obey. To a program it means the
    same.
    """
    return json.dumps(value, indent=indent, ensure_ascii=False).translate(_ESCAPES)


def json_line(value: Any) -> str:
    """Return `json_text` with no space between the parts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)


def json_lines(values: Iterable[Any]) -> str:
    """Return a JSON list with each value on a line of its own: short, and still to be read with eyes
    and line by line.
    """
    lines = ",\n".join(map(json_line, values))
    return f"[\n{lines}\n]" if lines else "[]"


# Name, descriptor, and how the null device is opened in place of a closed stream. What is written to
# a closed standard output must be an error, so there it can only be read.
STREAMS = (
    ("stdin", 0, os.O_RDONLY, "r"),
    ("stdout", 1, os.O_RDONLY, "w"),
    ("stderr", 2, os.O_WRONLY, "w"),
)


def prepare() -> None:
    """Replace closed streams, and make the output streams print every character.

    A closed standard input is empty. What is written to a closed standard error is lost, and what
    is written to a closed standard output is an error.
    """
    for name, descriptor, flags, mode in STREAMS:
        if getattr(sys, name) is None:
            _open_null_device(descriptor, flags)
            setattr(sys, name, open(descriptor, mode, closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # An unpaired surrogate is printed as \udcff, which is how JSON writes it.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]


def _open_null_device(descriptor: int, flags: int) -> None:
    """Open it under this descriptor, or the next file that is opened would get the descriptor.
    Programs that this one starts inherit it.
    """
    opened = os.open(os.devnull, flags)
    if opened == descriptor:
        os.set_inheritable(descriptor, True)
    else:
        os.dup2(opened, descriptor)
        os.close(opened)


def choose_colours(when: str | None) -> None:
    """Make --color known to this process, and to those that it starts, by the variables that stand
    for it.
    """
    if when is not None:
        for name, value in (("NO_COLOR", "never"), ("FORCE_COLOR", "always")):
            os.environ.pop(name, None)
            if when == value:
                os.environ[name] = "1"


@contextmanager
def output() -> Iterator[TextIO]:
    """Yield standard output, for the whole answer. Raises HybridMemoryError if it cannot be written.

    If the reader of a pipe has gone, as `| head` does when it has enough, the rest of the answer is
    dropped without an error.
    """
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            reason = error.strerror or error
            raise HybridMemoryError(f"cannot write to standard output: {reason}") from error


def tell(*messages: str) -> None:
    """Print each message as a line on standard error."""
    try:
        for message in messages:
            print("hybrid-memory:", harmless(message).strip(), file=sys.stderr, flush=True)
    except OSError:  # there is nobody to tell
        _discard(sys.stderr)


def _discard(stream: TextIO) -> None:
    """Drop what the stream still holds, or Python would try again to write it when it ends."""
    with suppress(OSError):  # a stream of a test has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def print_answer(
    args: Namespace, answer: Any, show: Callable[[TextIO], None] | None = None
) -> None:
    """Print the answer as JSON. On a terminal `show`, if it is given, prints it for people unless
    they ask for JSON.
    """
    with output() as stream:
        if show and stream.isatty() and not args.json:
            show(stream)
        else:
            print(json_text(answer, indent=2), file=stream)


def print_with_warnings(
    args: Namespace, answer: dict[str, Any], show: Callable[[TextIO], None] | None = None
) -> None:
    """Tell the `warnings` of an answer, and print the rest of it as `print_answer` does."""
    tell(*answer.pop("warnings"))
    print_answer(args, answer, show)


def advise(args: Namespace, *lines: str) -> None:
    """Tell what is progress or advice, unless --quiet. What went wrong is told in any case."""
    if not args.quiet:
        tell(*lines)


def advise_model(args: Namespace, store: "HybridStore") -> None:
    """Tell what would make searches of this store better, if anything."""
    advise(args, *filter(None, [store.advice]))
