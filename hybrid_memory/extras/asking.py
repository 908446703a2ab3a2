"""Ask the user on a terminal before something is changed."""

import sys
from argparse import Namespace


def can_ask(args: Namespace) -> bool:
    """Whether a command may ask: on a terminal, without --json and without --yes."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not (args.json or args.yes)


def confirm(question: str, default: bool = True) -> bool:
    """Ask a question, and return `default` for an empty answer."""
    try:
        reply = input(f"{question} {'[Y/n]' if default else '[y/N]'} ").strip().lower()
    except EOFError:
        print()
        return False
    return reply in ("y", "yes") if reply else default
