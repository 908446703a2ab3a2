"""The command line: runs the command that is named, and exits. No other file exits."""

import os
import sys

try:
    from collections.abc import Sequence

    from . import config
    from .errors import HybridMemoryError, UsageError
    from .surface import streams
    from .surface.arguments import build_parser
    from .surface.commands.table import runner_of
    from .surface.streams import tell
    from .typed.names import NoReturn
except KeyboardInterrupt:  # Ctrl-C while the program starts
    sys.exit(130)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status. Raises SystemExit for help and for wrong usage."""
    parser = build_parser()
    try:
        args = parser.parse_args(argv)
        streams.choose_colours(args.color)
        return runner_of(args.command)(args)
    except UsageError as error:
        parser.error(str(error))
    except HybridMemoryError as error:
        tell(str(error))
        return 1
    except FileNotFoundError:
        from .surface.from_arguments import has_working_directory

        if has_working_directory():
            raise
        tell("the working directory no longer exists; change to another one")
        return 1
    except KeyboardInterrupt as error:
        tell(str(error) or "interrupted; what was written before is complete")
        return 130
    except RuntimeError as error:  # Python 3.11 raises it for Ctrl-C while a class is made
        if isinstance(error.__cause__, KeyboardInterrupt):
            return 130
        raise


def keep_bytecode() -> None:
    """Let Python keep an installed package compiled although PYTHONDONTWRITEBYTECODE is set: else a search takes twice as long.

    The variable keeps folders clean in which people work on source; this is none, and a checkout is left alone. pip compiles what
    it installs whatever the variable says; other tools do not. Where the folder cannot be written, nothing happens.
    """
    if sys.dont_write_bytecode and os.environ.get("PYTHONDONTWRITEBYTECODE") and not config.in_checkout():
        sys.dont_write_bytecode = False
        for name, module in [*sys.modules.items()]:
            if name.partition(".")[0] == __package__ and module.__spec__ and module.__spec__.loader:
                module.__spec__.loader.get_code(name)  # type: ignore[attr-defined]  # writes it unless it is there and current


def entry_point() -> NoReturn:
    """The command `hybrid-memory`."""
    try:
        keep_bytecode()
        streams.prepare()
        status = main()
        # Taking modules apart at the end costs a tenth of a search. Without threads nobody needs that: the store is closed.
        if "threading" not in sys.modules and not sys.getprofile():
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C can only end the process sooner now
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
