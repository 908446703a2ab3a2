"""Standard output and standard error of a command. If one cannot be written, that is told in a line, or to nobody."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ..errors import HybridMemoryError
from ..typed.names import TextIO
from .printable import harmless


def prepare() -> None:
    """Make both streams print every character, and put something in the place of a stream that is closed.

    What is written to a closed standard error is lost. What is written to a closed standard output is an error.
    """
    for name, descriptor, flags in (("stdout", 1, os.O_RDONLY), ("stderr", 2, os.O_WRONLY)):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, flags), descriptor)  # or the next file that is opened would get this descriptor
            setattr(sys, name, open(descriptor, "w", closefd=False))  # noqa: SIM115
        # An unpaired surrogate is printed as \udcff, which is how JSON writes it.
        getattr(sys, name).reconfigure(encoding="utf-8", errors="backslashreplace")


def choose_colours(when: str | None) -> None:
    """Make --color known to this process, and to those that it starts, by the variables that stand for it."""
    if when is not None:
        for name, value in (("NO_COLOR", "never"), ("FORCE_COLOR", "always")):
            os.environ.pop(name, None)
            if when == value:
                os.environ[name] = "1"


@contextmanager
def output() -> Iterator[TextIO]:
    """Standard output, for the whole answer. Raises HybridMemoryError if it cannot be written.

    If the reader of a pipe has gone, as `| head` does when it has enough, the rest of the answer is dropped without an error.
    """
    try:
        yield sys.stdout
        sys.stdout.flush()
    except OSError as error:
        _discard(sys.stdout)
        if not isinstance(error, BrokenPipeError):
            raise HybridMemoryError(f"cannot write to standard output: {error.strerror or error}") from error


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
