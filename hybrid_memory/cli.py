"""The command line: runs a command and exits. No other module exits."""

import os
import sys

try:
    from collections.abc import Sequence
    from typing import NoReturn

    from .errors import HybridMemoryError, UsageError
    from .paths import has_working_directory
    from .registry import COMMANDS, COMPLETION, load
    from .surface import streams
    from .surface.arguments import parse
    from .surface.streams import print_message
except KeyboardInterrupt:  # Ctrl-C while the program starts
    sys.exit(130)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status. Raises SystemExit for help and for wrong usage."""
    command = ""
    try:
        if "_ARGCOMPLETE" in os.environ:  # a shell completes a command line
            load(COMPLETION)()
        args = parse(argv)
        command = args.command
        streams.choose_colours(args.color)
        return int(load(COMMANDS[command].run)(args))
    except UsageError as error:
        print_message(f"{error} (see hybrid-memory {command} --help)")
        return 2
    except HybridMemoryError as error:
        print_message(str(error))
        return 1
    except FileNotFoundError:
        if has_working_directory():
            raise
        print_message("the working directory no longer exists; change to another one")
        return 1
    except KeyboardInterrupt as error:
        print_message(str(error) or "interrupted; everything written so far is complete")
        return 130
    except RuntimeError as error:  # raised by Python 3.11 for Ctrl-C while a class is created
        if isinstance(error.__cause__, KeyboardInterrupt):
            return 130
        raise


def entry_point() -> NoReturn:
    """Run the command `hybrid-memory`."""
    try:
        streams.prepare()
        status = main()
        # Python's own clean-up takes a tenth of a search. Without threads it is needless, because the
        # store is closed.
        if "threading" not in sys.modules and not sys.getprofile():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
