"""The command line: runs the commands, prints their answers and exits. No other file does."""

import sys

try:
    import os
    from collections.abc import Sequence
    from contextlib import suppress
    from typing import TYPE_CHECKING, Any, NoReturn

    from .errors import HybridMemoryError, SourceError, UsageError
    from .search.results import lean
    from .store import HybridStore
    from .surface import from_arguments, requests, streams
    from .surface.arguments import build_parser
    from .surface.hints import why_nothing
    from .surface.opening import open_store as _open
    from .surface.printable import json_lines, json_text, printable
    from .surface.streams import output, tell
except KeyboardInterrupt:  # Ctrl-C while the program starts
    sys.exit(130)

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable
    from typing import TextIO

    from .sync.report import Report


def run_store(args: "Namespace") -> int:
    metadata = dict(args.metadata)
    is_file = args.file is not None and os.path.isfile(os.path.realpath(os.path.expanduser(args.file)))  # else a pipe, or -
    text = "" if is_file else from_arguments.text(args)
    with _open(args, create=True) as store:
        put, what = (requests.store_file, args.file) if is_file else (requests.store_text, text)
        _print_with_warnings(args, put(store, args.doc_id, what, metadata))
    return 0


def run_search(args: "Namespace") -> int:
    query, filters = from_arguments.query(args), from_arguments.filters(args)
    with _open(args) as store:
        request = from_arguments.request(args, filters, store.config)
        answer = requests.search(store, query, request, refresh=store.config["refresh"])
        advice = answer["warnings"][-1:] if answer["nearest_miss"] else []  # the last line tells of the nearest miss
        tell(*answer["warnings"][: -1 if advice else None])
        unanswered = answer["unanswered"]
        _advise(args, *advice if advice or answer["results"] or unanswered else [why_nothing(store, request)])
    if args.explain:
        tell(", ".join(f"{part} {1000 * seconds:.1f} ms" for part, seconds in answer["timings"].items()))
    form = from_arguments.form(args)
    results = answer["results"]
    with output() as stream:
        if form == "json" and not args.open:
            print(json_lines(results if args.full else map(lean, results)), file=stream)
        else:
            from .surface.output import show

            show(results, query, form, stream, full=args.full, opened=args.open)
    return 1 if unanswered else 0


def run_get(args: "Namespace") -> int:
    with _open(args) as store:
        answer = requests.get(store, args.target, max_lines=args.max_lines, max_chars=args.max_chars)
    if answer["changed"]:
        tell(f"{answer['doc_id']} changed since it was indexed; lines that a search gave before may have moved")
    _print(args, answer, lambda stream: print(printable(answer["text"]), file=stream))
    if answer["next"] and sys.stdout.isatty() and not args.json:
        from shlex import quote

        place = f"line {answer['end_line']} of {answer['total_lines']}"
        _advise(args, f"{place}; `hybrid-memory get {quote(answer['next'])}` goes on")
    return 0


def run_why(args: "Namespace") -> int:
    from .surface.terminal import show_reason

    with _open(args) as store:
        answer = requests.why(store, args.note)
    _print(args, answer, lambda stream: show_reason(answer, stream))
    return 0 if answer["current"] else 1


def run_list(args: "Namespace") -> int:
    from .surface.terminal import show_documents

    with _open(args) as store:
        answer = requests.list_documents(store, filters=from_arguments.filters(args), limit=args.limit)
    _print(args, answer, lambda stream: show_documents(answer["documents"], stream))
    if (shown := len(answer["documents"])) < answer["total"]:
        _advise(args, f"{shown} of {answer['total']} documents; --limit {answer['total']} lists them all")
    return 0


def run_ingest(args: "Namespace") -> int:
    from .surface.terminal import progress_line
    from .sync.ingest import Ingest

    options = from_arguments.ingest(args)
    if args.path and not any(os.path.exists(os.path.expanduser(path)) for path in args.path):  # or a database would be made
        raise SourceError(f"cannot ingest {', '.join(args.path)}: No such file or directory")
    with _open(args, create=bool(args.path)) as store, progress_line(args.quiet) as progress:
        job = Ingest(store, **options, sizes=from_arguments.sizes(args, store.config), progress=progress)
        try:
            report = job.run(args.path, args.collection) if args.path else job.update()
        except KeyboardInterrupt as error:
            again = "" if options["incremental"] else " with --incremental"
            raise KeyboardInterrupt(f"interrupted after {job.reached()}; run it again{again} to go on") from error
        tell(*report.error_lines(), *report.warning_lines())
        _advise(args, *report.left_out(), *report.notes)
        if report.embedded:
            _advise_model(args, store)
    _print(args, report.as_dict())
    return 1 if report.errors else 0


def run_watch(args: "Namespace") -> int:
    import signal

    from .sync.watch import Watch

    told: set[str] = set()

    def tell_of(report: "Report") -> None:
        _advise(args, *report.summary(), *report.notes)
        problems = report.warning_lines()
        tell(*(problem for problem in problems if problem not in told))
        told.clear()
        told.update(problems)  # a problem that goes on is told once

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), _open(args) as store:
        watch = Watch(store, args.path, tell_of)
        _advise(args, f"watching {', '.join(watch.paths)}; Ctrl-C ends it")
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
    from .surface.terminal import progress_line

    with _open(args) as store, progress_line(args.quiet) as progress:
        answer = requests.reindex(store, embeddings=args.embeddings, progress=progress)
        tell(*answer.pop("warnings"))
    _print(args, answer)
    return 0 if answer["status"] == "ok" else 1


def run_stats(args: "Namespace") -> int:
    with _open(args) as store:
        from .surface.places import place

        _print(args, requests.status(store) | place(args, store.path))
    return 0


def run_doctor(args: "Namespace") -> int:
    from .surface.terminal import show_findings
    from .views.doctor import examine

    with _open(args) as store:
        findings = examine(store, thorough=args.thorough)
        _print(args, [finding._asdict() for finding in findings], lambda stream: show_findings(findings, stream))
        if not all(finding.ok for finding in findings):
            return 1
        _advise_model(args, store)
    return 0


def run_rescue(args: "Namespace") -> int:
    from .surface.terminal import progress_line

    with progress_line(args.quiet) as progress:
        answer = requests.rescue(from_arguments.settings(args), args.out, lambda message: _advise(args, message), progress)
    _print_with_warnings(args, answer)
    return 1 if answer["lost"] else 0


def run_eval(args: "Namespace") -> int:
    from .surface.terminal import progress_line, show_evaluation
    from .views import evaluation
    from .views.judgements import read_qrels, read_queries

    queries, qrels = read_queries(args.queries), read_qrels(args.qrels)
    with _open(args) as store, progress_line(args.quiet) as progress:
        found = evaluation.evaluate(store, queries, qrels, args.modes, misses=args.misses, progress=progress)
    answer = {key: value for key, value in found._asdict().items() if args.misses or key != "misses"}
    _print(args, answer, lambda stream: show_evaluation(found, stream))
    tell(*found.notes())
    return 0


def run_mcp(args: "Namespace") -> int:
    from .environment import needing

    with needing("mcp"):
        from .surface.mcp.server import build
    import signal
    from functools import partial

    from .surface.places import place

    settings = from_arguments.settings(args)  # a wrong setting is reported now, not at the first call
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the handler of the SDK would wait for the next line of input
    build(lambda: _open(args), lambda: _open(args, create=True), settings, partial(place, args)).run()
    return 0


def run_serve(args: "Namespace") -> int:
    from .environment import needing

    with needing("serve"):
        from .surface.serve import serve
    return serve(args)


def _print(args: "Namespace", answer: Any, show: "Callable[[TextIO], None] | None" = None) -> None:
    """Print the answer as JSON. On a terminal `show`, if it is given, prints it for people unless they ask for JSON."""
    with output() as stream:
        if show and stream.isatty() and not args.json:
            show(stream)
        else:
            print(json_text(answer, indent=2), file=stream)


def _print_with_warnings(args: "Namespace", answer: dict[str, Any]) -> None:
    tell(*answer.pop("warnings"))
    _print(args, answer)


def _advise(args: "Namespace", *lines: str) -> None:
    """Tell what is progress or advice, unless --quiet. What went wrong is told in any case."""
    if not args.quiet:
        tell(*lines)


def _advise_model(args: "Namespace", store: HybridStore) -> None:
    _advise(args, *filter(None, [store.advice]))


RUNS = (
    run_store, run_search, run_get, run_why, run_list, run_ingest, run_watch, run_delete, run_reindex, run_stats, run_doctor,
    run_rescue, run_eval, run_mcp, run_serve,
)  # fmt: skip
COMMANDS = {run.__name__.removeprefix("run_"): run for run in RUNS} | {"update": run_ingest}


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
