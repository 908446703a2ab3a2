"""The commands `ingest` and `update`."""

import os
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from ...errors import SourceError, UsageError
from ...sync.ingest import Ingest
from ...sync.plan import uncovered
from ...sync.reading import cores
from ...text.characters import storable_name
from ..arguments import Parser, add_json, examples
from ..opening import open_store
from ..streams import print_advice, print_answer, print_message, print_model_advice
from ..terminal import progress_line, show_report

if TYPE_CHECKING:
    from ...config import Settings

ALL = "read every changed transcript, even if little is new"
# Options that need --path
OF_A_PATH = ("pattern", "exclude", "collection", "follow_symlinks", "keep_missing", "no_ignore")


def ingest_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [DIR ...]"
    parser.add_argument("dirs", nargs="*", metavar="DIR", help="the same as --path DIR")
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="DIR",
        help="a folder or file; may be repeated (default: all ingested ones, as `update`)",
    )
    parser.add_argument(
        "--pattern",
        action="append",
        metavar="GLOB",
        help="names of the files to read; may be repeated (default: *.md)",
    )
    parser.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="GLOB",
        help="names, or paths below DIR, to leave out; may be repeated",
    )
    parser.add_argument(
        "--incremental",
        action="store_true",
        help="skip files with unchanged time and size",
    )
    parser.add_argument(
        "--collection",
        type=storable_name,
        metavar="NAME",
        help="the beginning of all ids (default: the name of the folder; sessions for *.jsonl)",
    )
    parser.add_argument("--all", action="store_true", help=ALL)
    parser.add_argument("--follow-symlinks", action="store_true", help="follow symbolic links")
    parser.add_argument(
        "--keep-missing", action="store_true", help="keep the documents of deleted files"
    )
    parser.add_argument(
        "--no-ignore",
        action="store_true",
        help="also read what .gitignore, .ignore and Obsidian's excluded files leave out",
    )
    add_json(parser)
    examples(
        parser,
        "ingest --path ~/notes --incremental",
        'ingest --path ~/notes --pattern "*.txt" --exclude "drafts/*"',
    )


def run_ingest(args: Namespace) -> int:
    args.path += args.dirs
    options = _options(args)
    # Otherwise an empty database would be created
    if args.path and not any(os.path.exists(os.path.expanduser(path)) for path in args.path):
        raise SourceError(f"cannot ingest {', '.join(args.path)}: No such file or directory")
    with open_store(args, create=bool(args.path)) as store, progress_line(args.quiet) as progress:
        is_first = store.storage.chunks.count() == 0
        job = Ingest(
            store, **options, sizes=_sizes(args, store.config), workers=cores(), progress=progress
        )
        try:
            if args.path:
                report = job.run(args.path, args.collection)
            else:
                report = job.update()
        except KeyboardInterrupt as error:
            again = "" if options["incremental"] else " with --incremental"
            raise KeyboardInterrupt(f"interrupted; run it again{again} to continue") from error
        print_message(*report.error_lines())
        print_advice(args, *report.warning_lines(), *report.advice_lines())
        if not args.path and (others := uncovered(store.storage.sources.all())):
            print_advice(
                args,
                f"not ingested yet: {', '.join(others)}; "
                "`hybrid-memory ingest --path PATH` adds each",
            )
        if is_first and report.files:
            print_model_advice(args, store)
    print_answer(args, report.as_dict(), lambda stream: show_report(report, stream))
    return 1 if report.errors else 0


def update_options(parser: Parser) -> None:
    parser.set_defaults(path=[], dirs=[])
    parser.add_argument("--all", action="store_true", help=ALL)
    add_json(parser)
    examples(parser, "update", "update --quiet")


def _options(args: Namespace) -> dict[str, Any]:
    """The options for reading files. Raises UsageError for an option that needs a path."""
    if args.path:
        return {
            "patterns": args.pattern or ["*.md"],
            "exclude": args.exclude,
            "incremental": args.incremental,
            "everything": args.all,
            "follow_symlinks": args.follow_symlinks,
            "keep_missing": args.keep_missing,
            "no_ignore": args.no_ignore,
        }
    for name in OF_A_PATH:
        if getattr(args, name, None):
            flag = name.replace("_", "-")
            raise UsageError(
                f"--{flag} needs --path; without it, all ingested folders keep their options"
            )
    return {"incremental": True, "everything": args.all}


def _sizes(args: Namespace, settings: "Settings") -> tuple[int, int] | None:
    """Chunk size and overlap for the named paths, if either is given on the command line."""
    if not args.path or (args.chunk_size is None and args.overlap is None):
        return None
    return settings["chunk_size"], settings["chunk_overlap"]
