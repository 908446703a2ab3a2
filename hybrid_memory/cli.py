"""The command line: runs the commands, prints their answers and exits. No other file does."""

import sys

try:
    import os
    from collections.abc import Iterator, Sequence
    from contextlib import contextmanager, suppress
    from typing import TYPE_CHECKING, Any, NoReturn

    from .errors import ConfigError, HybridMemoryError, SourceError, UsageError
    from .store import HybridStore
    from .surface import from_arguments, requests, streams
    from .surface.arguments import build_parser
    from .surface.hints import why_nothing
    from .surface.printable import json_text, printable
    from .surface.streams import output, tell
except KeyboardInterrupt:  # Ctrl-C while the program starts
    sys.exit(130)

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import TextIO

    from .sync.report import Report


def run_store(args: "Namespace") -> int:
    text = from_arguments.text(args)
    with _open(args, create=True) as store:
        _print_with_warnings(args, requests.store_text(store, args.doc_id, text, dict(args.metadata)))
    return 0


def run_search(args: "Namespace") -> int:
    query, request = from_arguments.query(args), from_arguments.request(args)
    with _open(args) as store:
        answer = requests.search(store, query, request, refresh=args.refresh)
        _warn(args, *answer["warnings"])
        if not answer["results"] and not answer["nearest_miss"]:
            _warn(args, why_nothing(store, request))
    if args.explain:
        tell(", ".join(f"{part} {1000 * seconds:.1f} ms" for part, seconds in answer["timings"].items()))
    form = args.format or ("text" if sys.stdout.isatty() else "json")
    if form == "json":
        _print(args, answer["results"])
    else:
        from .surface.output import FORMATS

        with output() as stream:
            FORMATS[form](answer["results"], query, stream)
    return 0


def run_get(args: "Namespace") -> int:
    with _open(args) as store:
        answer = requests.get(store, args.target, max_lines=args.max_lines, max_chars=args.max_chars)
    if answer["changed"]:
        _warn(args, f"{answer['doc_id']} changed since it was indexed; lines that a search gave before may have moved")
    _print(args, answer, lambda stream: print(printable(answer["text"]), file=stream))
    if answer["next"] and sys.stdout.isatty() and not args.json:
        from shlex import quote

        place = f"line {answer['end_line']} of {answer['total_lines']}"
        _warn(args, f"{place}; `hybrid-memory get {quote(answer['next'])}` goes on")
    return 0


def run_list(args: "Namespace") -> int:
    from .surface.terminal import show_documents

    with _open(args) as store:
        answer = requests.list_documents(store, filters=from_arguments.filters(args), limit=args.limit)
    _print(args, answer, lambda stream: show_documents(answer["documents"], stream))
    if (shown := len(answer["documents"])) < answer["total"]:
        _warn(args, f"{shown} of {answer['total']} documents; --limit {answer['total']} lists them all")
    return 0


def run_ingest(args: "Namespace") -> int:
    from .surface.terminal import progress_line
    from .sync.ingest import Ingest

    if not any(os.path.exists(os.path.expanduser(path)) for path in args.path):  # or an empty database would be made
        raise SourceError(f"cannot ingest {', '.join(args.path)}: No such file or directory")
    with _open(args, create=True) as store, progress_line(args.quiet) as progress:
        job = Ingest(
            store,
            patterns=args.pattern or ["*.md"],
            exclude=args.exclude,
            incremental=args.incremental,
            everything=args.all,
            follow_symlinks=args.follow_symlinks,
            keep_missing=args.keep_missing,
            progress=progress,
        )
        try:
            report = job.run(args.path, args.collection)
        except KeyboardInterrupt as error:
            again = "" if args.incremental else " with --incremental"
            raise KeyboardInterrupt(f"interrupted after {job.reached()}; run it again{again} to go on") from error
        for problem in report.errors:
            tell(f"{problem['path']}: {problem['reason']}")
        _warn(args, *report.problem_lines(), *report.embedding_problems)
        if report.embedded:
            _advise(args, store)
    _print(args, report.as_dict())
    return 1 if report.errors else 0


def run_watch(args: "Namespace") -> int:
    import signal

    from .sync.watch import Watch

    told: set[str] = set()

    def tell_of(report: "Report") -> None:
        _warn(args, *report.summary())
        problems = [*report.problem_lines(), *report.embedding_problems]
        _warn(args, *(problem for problem in problems if problem not in told))
        told.clear()
        told.update(problems)  # a problem that goes on is told once

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), _open(args) as store:
        watch = Watch(store, args.path, tell_of)
        _warn(args, f"watching {', '.join(watch.paths)}; Ctrl-C ends it")
        watch.run()
    return 0


def run_delete(args: "Namespace") -> int:
    with _open(args) as store:
        if args.doc_id is not None:
            answer = requests.delete_document(store, args.doc_id)
        elif args.collection is not None:
            answer = requests.delete_collection(store, args.collection)
        else:
            answer = requests.delete_path(store, args.path)
        _print_with_warnings(args, answer)
    return 0


def run_reindex(args: "Namespace") -> int:
    from .progress import counted
    from .surface.terminal import progress_line

    with _open(args) as store, progress_line(args.quiet) as progress:
        on_batch = counted("embeddings", store.storage.chunks.count(), progress)
        try:
            chunks = store.reindex(anew=args.embeddings, progress=on_batch)
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(
                "interrupted; an ingest with --incremental embeds the chunks that have no embedding yet"
            ) from error
        answer: dict[str, Any] = {"status": "ok", "chunks": chunks}
        _warn(args, *store.warnings)
        if args.embeddings:
            counts = store.stats()
            answer |= {"embedded": counts["embedded_count"], "pending": counts["pending_count"]}
    _print(args, answer)
    return 0


def run_stats(args: "Namespace") -> int:
    with _open(args) as store:
        _print(args, requests.status(store))
    return 0


def run_doctor(args: "Namespace") -> int:
    from .surface.terminal import show_findings
    from .views.doctor import examine

    with _open(args) as store:
        findings = examine(store)
        _print(args, [finding._asdict() for finding in findings], lambda stream: show_findings(findings, stream))
        _advise(args, store)
    return 0 if all(finding.ok for finding in findings) else 1


def run_eval(args: "Namespace") -> int:
    from .surface.terminal import progress_line, show_evaluation
    from .views import evaluation
    from .views.judgements import read_qrels, read_queries

    queries, qrels = read_queries(args.queries), read_qrels(args.qrels)
    with _open(args) as store, progress_line(args.quiet) as progress:
        found = evaluation.evaluate(store, queries, qrels, args.modes, misses=args.misses, progress=progress)
    answer = {key: value for key, value in found._asdict().items() if args.misses or key != "misses"}
    _print(args, answer, lambda stream: show_evaluation(found, stream))
    _warn(args, *found.notes())
    return 0


def run_mcp(args: "Namespace") -> int:
    try:
        from .surface.mcp import build
    except ModuleNotFoundError as error:
        from .errors import missing_package

        raise ConfigError(missing_package("`hybrid-memory mcp`", "mcp>=2")) from error
    import signal

    from_arguments.settings(args)  # a wrong setting is reported now, not at the first call
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the handler of the SDK would wait for the next line of input
    build(lambda: _open(args), lambda: _open(args, create=True)).run()
    return 0


@contextmanager
def _open(args: "Namespace", *, create: bool = False) -> Iterator[HybridStore]:
    """The store. Whatever the storage engine raises while it is open becomes a StoreError."""
    settings = from_arguments.settings(args)
    with HybridStore(settings["db_path"], settings, create=create) as store, store.storage.guarded():
        yield store


def _print(args: "Namespace", answer: Any, show: "Callable[[TextIO], None] | None" = None) -> None:
    """Print the answer as JSON. On a terminal `show`, if it is given, prints it for people unless they ask for JSON."""
    with output() as stream:
        if show and stream.isatty() and not args.json:
            show(stream)
        else:
            print(json_text(answer, indent=2), file=stream)


def _print_with_warnings(args: "Namespace", answer: dict[str, Any]) -> None:
    _warn(args, *answer.pop("warnings"))
    _print(args, answer)


def _warn(args: "Namespace", *messages: str) -> None:
    if not args.quiet:
        for message in messages:
            tell(message)


def _advise(args: "Namespace", store: HybridStore) -> None:
    from .embedding.identity import advice

    _warn(args, *filter(None, [advice(store.storage.embeddings.identity())]))


COMMANDS = {
    "store": run_store,
    "search": run_search,
    "get": run_get,
    "list": run_list,
    "ingest": run_ingest,
    "watch": run_watch,
    "delete": run_delete,
    "reindex": run_reindex,
    "stats": run_stats,
    "doctor": run_doctor,
    "eval": run_eval,
    "mcp": run_mcp,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status. Raises SystemExit for help and for wrong usage."""
    parser = build_parser()
    try:
        args = parser.parse_args(argv)
        return COMMANDS[args.command](args)
    except UsageError as error:
        parser.error(str(error))
    except HybridMemoryError as error:
        tell(str(error))
        return 1
    except FileNotFoundError:
        if from_arguments.has_working_directory():
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


def entry_point() -> NoReturn:
    """The command `hybrid-memory`."""
    try:
        streams.prepare()
        status = main()
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C can only end the process sooner now
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)
