"""The command line: runs the commands and prints their answers. The only file that prints answers or exits."""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import ConfigError, HybridMemoryError, SourceError, UsageError
from .store import HybridStore
from .surface import from_arguments, requests
from .surface.arguments import build_parser
from .surface.hints import why_nothing

if TYPE_CHECKING:
    from argparse import Namespace

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
        _tell(", ".join(f"{part} {1000 * seconds:.1f} ms" for part, seconds in answer["timings"].items()))
    form = args.format or ("text" if sys.stdout.isatty() else "json")
    if form == "json":
        _print_json(answer["results"])
    else:
        from .surface.output import FORMATS

        FORMATS[form](answer["results"], query, sys.stdout)
    return 0


def run_get(args: "Namespace") -> int:
    with _open(args) as store:
        answer = requests.get(store, args.target, max_lines=args.max_lines, max_chars=args.max_chars)
    if answer["changed"]:
        _warn(args, f"{answer['doc_id']} changed since it was indexed; lines that a search gave before may have moved")
    if _wants_json(args):
        _print_json(answer)
    else:
        from shlex import quote

        from .surface.terminal import printable

        print(printable(answer["text"]))
        if answer["next"]:
            place = f"line {answer['end_line']} of {answer['total_lines']}"
            _warn(args, f"{place}; `hybrid-memory get {quote(answer['next'])}` goes on")
    return 0


def run_list(args: "Namespace") -> int:
    with _open(args) as store:
        answer = requests.list_documents(store, filters=from_arguments.filters(args), limit=args.limit)
    if _wants_json(args):
        _print_json(answer)
    else:
        from .surface.terminal import show_documents

        show_documents(answer["documents"], sys.stdout)
    if (shown := len(answer["documents"])) < answer["total"]:
        _warn(args, f"{shown} of {answer['total']} documents; --limit {answer['total']} lists them all")
    return 0


def run_ingest(args: "Namespace") -> int:
    from .surface.terminal import progress_line
    from .sync.ingest import Ingest

    if not any(os.path.exists(os.path.expanduser(path)) for path in args.path):  # before a database is made for nothing
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
            _tell(f"{problem['path']}: {problem['reason']}")
        _warn(args, *report.problem_lines(), *report.embedding_problems)
        if report.embedded:
            _advise(args, store)
    _print_json(report.as_dict())
    return 1 if report.errors else 0


def run_watch(args: "Namespace") -> int:
    import signal

    from .sync.watch import Watch

    told: set[str] = set()

    def tell(report: "Report") -> None:
        _warn(args, *report.summary())
        problems = [*report.problem_lines(), *report.embedding_problems]
        _warn(args, *(problem for problem in problems if problem not in told))
        told.clear()
        told.update(problems)  # what goes on is told once

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), _open(args) as store:
        watch = Watch(store, args.path, tell)
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
            raise KeyboardInterrupt("interrupted; an ingest with --incremental embeds what has no embedding yet") from error
        answer: dict[str, Any] = {"status": "ok", "chunks": chunks}
        _warn(args, *store.warnings)
        if args.embeddings:
            counts = store.stats()
            answer |= {"embedded": counts["embedded_count"], "pending": counts["pending_count"]}
    _print_json(answer)
    return 0


def run_stats(args: "Namespace") -> int:
    with _open(args) as store:
        _print_json(requests.status(store))
    return 0


def run_doctor(args: "Namespace") -> int:
    from .views.doctor import examine

    with _open(args) as store:
        findings = examine(store)
        if _wants_json(args):
            _print_json([finding._asdict() for finding in findings])
        else:
            from .surface.terminal import harmless

            for finding in findings:
                print("ok     " if finding.ok else "PROBLEM", f"{finding.check}: {harmless(finding.text)}")
        _advise(args, store)
    return 0 if all(finding.ok for finding in findings) else 1


def run_eval(args: "Namespace") -> int:
    from .surface.terminal import progress_line
    from .views import evaluation
    from .views.judgements import read_qrels, read_queries

    queries, qrels = read_queries(args.queries), read_qrels(args.qrels)
    with _open(args) as store, progress_line(args.quiet) as progress:
        found = evaluation.evaluate(store, queries, qrels, args.modes, misses=args.misses, progress=progress)
    if _wants_json(args):
        _print_json({key: value for key, value in found._asdict().items() if args.misses or key != "misses"})
    else:
        from .surface.terminal import show_evaluation

        show_evaluation(found, sys.stdout)
    _warn(args, *found.notes())
    return 0


def run_mcp(args: "Namespace") -> int:
    try:
        from .surface.mcp import build
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"this needs the Python package mcp ({error}); get it with `pip install 'hybrid-memory[mcp]'`"
        ) from error
    import signal

    from_arguments.settings(args)  # what is wrong with them is told now, not at the first call
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the SDK's would wait for the thread that waits for the next line
    build(lambda: _open(args), lambda: _open(args, create=True)).run()
    return 0


def _open(args: "Namespace", *, create: bool = False) -> HybridStore:
    settings = from_arguments.settings(args)
    return HybridStore(settings["db_path"], settings, create=create)


def _wants_json(args: "Namespace") -> bool:
    return bool(args.json) or not sys.stdout.isatty()


def _print_json(answer: Any) -> None:
    print(json.dumps(answer, indent=2, ensure_ascii=False))


def _print_with_warnings(args: "Namespace", answer: dict[str, Any]) -> None:
    _warn(args, *answer.pop("warnings"))
    _print_json(answer)


def _tell(message: str) -> None:
    print("hybrid-memory:", " ".join(message.split()), file=sys.stderr)


def _warn(args: "Namespace", *messages: str) -> None:
    if not args.quiet:
        for message in messages:
            _tell(message)


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
    """Run a command. Gives the exit status; raises SystemExit for wrong usage and help."""
    parser = build_parser()
    args = parser.parse_args(argv)
    try:
        status = COMMANDS[args.command](args)
        sys.stdout.flush()
    except UsageError as error:
        parser.error(str(error))
    except HybridMemoryError as error:
        _tell(str(error))
        return 1
    except BrokenPipeError:  # `| head` has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt as error:
        _tell(str(error) or "interrupted; what was written before is complete")
        return 130
    return status


def entry_point() -> NoReturn:
    """What the command `hybrid-memory` runs."""
    for stream in (sys.stdout, sys.stderr):
        # An unpaired surrogate prints as \udcff, which is how JSON writes it.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main())
