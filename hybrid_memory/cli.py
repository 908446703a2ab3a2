"""The command line: arguments in, JSON or text out. The only file that prints or exits."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from . import __version__, config
from .errors import HybridMemoryError, SourceError, UsageError
from .store import MODES, HybridStore

EPILOG = """\
exit status:
  0    answered, if only by an empty list
  1    a failure that the message on stderr explains
  2    wrong usage
  130  interrupted

The one JSON document of the answer goes to stdout, everything else to stderr.
"""

SETTINGS = {  # option -> config key
    "db": "db_path",
    "provider": "provider",
    "ollama_url": "ollama_url",
    "model": "model",
    "chunk_size": "chunk_size",
    "overlap": "chunk_overlap",
    "keyword_weight": "keyword_weight",
    "vector_weight": "vector_weight",
}


class Parser(argparse.ArgumentParser):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **kwargs)

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: -"):
            message += "; write a query that begins with - as --query=-x or after --"
        print(f"hybrid-memory: {message} (see {self.prog} --help)", file=sys.stderr)
        sys.exit(2)


def build_parser() -> argparse.ArgumentParser:
    parser = Parser(prog="hybrid-memory", description="Hybrid search over an agent's markdown memory.", epilog=EPILOG)
    parser.add_argument("--version", action="version", version=f"hybrid-memory {__version__}")
    _add_global_options(parser, None)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=about, description=about)
        sub.set_defaults(run=run)
        _add_global_options(sub, argparse.SUPPRESS)  # or its defaults would undo what stands before the command
        return sub

    store = command("store", run_store, "Put a text into the memory, in place of the one with the same id.")
    store.add_argument("--doc-id", required=True, metavar="ID")
    text = store.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", metavar="TEXT")
    text.add_argument("--file", metavar="PATH", help="read the text from a file; - is standard input")
    store.add_argument("--metadata", nargs="+", action="extend", type=_key_value, default=[], metavar="KEY=VALUE")

    search = command("search", run_search, "Find the chunks that answer a query, best first.")
    search.add_argument("words", nargs="*", metavar="QUERY")
    search.add_argument("--query", metavar="QUERY", help="the query; write --query=--maxfail for one that begins with -")
    search.add_argument("--limit", type=_positive, default=10, metavar="N", help="how many results (default: 10)")
    search.add_argument("--mode", choices=MODES, default="hybrid", help="default: hybrid")
    search.add_argument("--exact", action="store_true", help="compare the query with every embedding, without the index")
    search.add_argument(
        "--fts-syntax", action="store_true", help="QUERY is FTS5's: prefix*, NEAR(a b, 5), a NOT b, heading: word"
    )
    search.add_argument("--json", action="store_true", help="JSON even on a terminal")

    ingest = command("ingest", run_ingest, "Make the memory mirror a folder of files.")
    ingest.add_argument("--path", action="append", required=True, metavar="DIR", help="a folder or file; may be repeated")
    ingest.add_argument("--pattern", action="append", metavar="GLOB", help="file names to take; may be repeated (default: *.md)")
    ingest.add_argument(
        "--exclude", action="append", default=[], metavar="GLOB", help="names or paths below DIR to leave out; may be repeated"
    )
    ingest.add_argument("--incremental", action="store_true", help="do not read files whose time and size are as before")
    ingest.add_argument("--collection", metavar="NAME", help="what ids begin with (default: the folder's name)")
    ingest.add_argument("--follow-symlinks", action="store_true", help="follow symbolic links")
    ingest.add_argument("--keep-missing", action="store_true", help="keep the documents of files that are gone")

    delete = command("delete", run_delete, "Remove a document.")
    delete.add_argument("--doc-id", required=True, metavar="ID")

    reindex = command("reindex", run_reindex, "Make the indexes anew from the stored chunks, and compact the file.")
    reindex.add_argument("--embeddings", action="store_true", help="embed all chunks anew, as after a change of model")

    command("stats", run_stats, "Count what is stored.")
    doctor = command(
        "doctor", run_doctor, "Check the memory, its files and the embedding server; exit 1 if something needs doing."
    )
    doctor.add_argument("--json", action="store_true", help="JSON even on a terminal")
    return parser


def _add_global_options(parser: argparse.ArgumentParser, default: Any) -> None:
    def add(flag: str, **kwargs: Any) -> None:
        group.add_argument(flag, default=default, **kwargs)

    group = parser.add_argument_group("options of every command")
    add("--db", metavar="PATH", help="the database")
    add("--config", metavar="PATH", help="a config file, in place of the standard one")
    add("--provider", choices=config.PROVIDERS, help="what makes the embeddings; none: search by keyword only")
    add("--ollama-url", metavar="URL", help="where Ollama answers")
    add("--model", metavar="NAME", help="the embedding model")
    add("--chunk-size", type=int, metavar="N", help="characters of a chunk at most")
    add("--overlap", type=int, metavar="N", help="characters that a chunk repeats of the one before")
    add("--keyword-weight", type=float, metavar="W", help="share of BM25 in a hybrid score")
    add("--vector-weight", type=float, metavar="W", help="share of the cosine in a hybrid score")
    add("--quiet", action="store_true", help="no warnings and no progress")


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def _key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return key, value


def run_store(args: argparse.Namespace) -> int:
    text = args.text if args.file is None else _read_text(args.file)
    with _open(args, create=True) as store:
        chunks = store.store(args.doc_id, text, dict(args.metadata))
        _warn(args, *store.warnings)
    _print_json({"doc_id": args.doc_id, "chunks": chunks})
    return 0


def _read_text(path: str) -> str:
    try:
        with open(0 if path == "-" else path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read {path}: not UTF-8 at byte {error.start}") from error


def run_search(args: argparse.Namespace) -> int:
    if bool(args.words) == (args.query is not None):
        raise UsageError("give the query once, as QUERY or with --query")
    query = args.query if args.query is not None else " ".join(args.words)
    with _open(args) as store:
        results = store.search(query, args.limit, args.mode, exact=args.exact, fts_syntax=args.fts_syntax)
        _warn(args, *store.warnings)
        if args.json or not sys.stdout.isatty():
            _print_json(results)
        else:
            from .terminal import show

            show(results, query, sys.stdout)
    return 0


def run_ingest(args: argparse.Namespace) -> int:
    from .ingest import Ingest

    if not any(os.path.exists(os.path.expanduser(path)) for path in args.path):  # before a database is made for nothing
        raise SourceError(f"cannot ingest {', '.join(args.path)}: No such file or directory")
    with _open(args, create=True) as store:
        job = Ingest(
            store,
            patterns=args.pattern or ["*.md"],
            exclude=args.exclude,
            incremental=args.incremental,
            follow_symlinks=args.follow_symlinks,
            keep_missing=args.keep_missing,
            **_progress(args),
        )
        report = job.run(args.path, args.collection)
        for problem in report.errors:
            _tell(f"{problem['path']}: {problem['reason']}")
        advice = store.advice() if report.embedded else None
        notes = [f"{problem['path']}: {problem['reason']}" for problem in report.warnings]
        _warn(args, *notes, *store.warnings, *([advice] if advice else []))
    _print_json(vars(report))
    return 1 if report.errors else 0


def _progress(args: argparse.Namespace) -> dict[str, Any]:
    if args.quiet or not sys.stderr.isatty():
        return {}
    from .terminal import ProgressLine

    return {"progress": ProgressLine(sys.stderr)}


def run_delete(args: argparse.Namespace) -> int:
    with _open(args) as store:
        deleted = store.delete(args.doc_id)
    if not deleted:
        _warn(args, f"there is no document {args.doc_id!r}; nothing was deleted")
    _print_json({"doc_id": args.doc_id, "chunks_deleted": deleted})
    return 0


def run_reindex(args: argparse.Namespace) -> int:
    with _open(args) as store:
        answer: dict[str, Any] = {"status": "ok", "chunks": store.reindex(anew=args.embeddings)}
        _warn(args, *store.warnings)
        if args.embeddings:
            counts = store.stats()
            answer |= {"embedded": counts["embedded_count"], "pending": counts["pending_count"]}
    _print_json(answer)
    return 0


def run_stats(args: argparse.Namespace) -> int:
    with _open(args) as store:
        _print_json(store.stats())
    return 0


def run_doctor(args: argparse.Namespace) -> int:
    from .doctor import examine

    with _open(args) as store:
        findings = examine(store)
        advice = store.advice()
    if args.json or not sys.stdout.isatty():
        _print_json([finding._asdict() for finding in findings])
    else:
        from .terminal import harmless

        for finding in findings:
            print("ok     " if finding.ok else "PROBLEM", f"{finding.check}: {harmless(finding.text)}")
    _warn(args, *([advice] if advice else []))
    return 0 if all(finding.ok for finding in findings) else 1


def _open(args: argparse.Namespace, *, create: bool = False) -> HybridStore:
    options = {key: getattr(args, option) for option, key in SETTINGS.items()}
    settings = config.load(args.config, {key: value for key, value in options.items() if value is not None})
    return HybridStore(settings["db_path"], settings, create=create)


def _print_json(answer: Any) -> None:
    print(json.dumps(answer, indent=2, ensure_ascii=False))


def _tell(message: str) -> None:
    print("hybrid-memory:", " ".join(message.split()), file=sys.stderr)


def _warn(args: argparse.Namespace, *messages: str) -> None:
    if not args.quiet:
        for message in messages:
            _tell(message)


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        status: int = args.run(args)
        sys.stdout.flush()
    except UsageError as error:
        parser.error(str(error))
    except HybridMemoryError as error:
        _tell(str(error))
        return 1
    except BrokenPipeError:  # `| head` has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        _tell("interrupted; what was written before is complete")
        return 130
    return status


def entry_point() -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        # An unpaired surrogate prints as \udcff, which is how JSON writes it.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main())
