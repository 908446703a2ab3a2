"""How commands print what they answer."""

from argparse import Namespace
from collections.abc import Callable

from ...store import HybridStore
from ...typed.names import Any, TextIO
from ..printable import json_text
from ..streams import output, tell


def print_answer(args: Namespace, answer: Any, show: Callable[[TextIO], None] | None = None) -> None:
    """Print the answer as JSON. On a terminal `show`, if it is given, prints it for people unless they ask for JSON."""
    with output() as stream:
        if show and stream.isatty() and not args.json:
            show(stream)
        else:
            print(json_text(answer, indent=2), file=stream)


def print_with_warnings(args: Namespace, answer: dict[str, Any]) -> None:
    """Tell the `warnings` of an answer, and print the rest of it as JSON."""
    tell(*answer.pop("warnings"))
    print_answer(args, answer)


def advise(args: Namespace, *lines: str) -> None:
    """Tell what is progress or advice, unless --quiet. What went wrong is told in any case."""
    if not args.quiet:
        tell(*lines)


def advise_model(args: Namespace, store: HybridStore) -> None:
    """Tell what would make searches of this store better, if anything."""
    advise(args, *filter(None, [store.advice]))
