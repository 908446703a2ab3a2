"""The command line: arguments in, JSON or text out. The only file that prints or exits."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from . import config
from .arguments import SETTINGS, build_parser
from .errors import ConfigError, HybridMemoryError, SourceError, UsageError
from .store import HybridStore

if TYPE_CHECKING:
    from .filters import Filters

EMBED_SECONDS = 2.0  # of a search with --refresh


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
        if args.refresh:
            _refresh(args, store)
        results = store.search(
            query,
            args.limit,
            args.mode,
            filters=_filters(args),
            exact=args.exact,
            fts_syntax=args.fts_syntax,
            min_score=args.min_score,
            min_confidence=args.min_confidence,
            half_life_days=args.half_life,
            per_doc=args.per_doc,
            context=args.context,
            explain=args.explain,
        )
        _warn(args, *store.warnings)
        if not results and not store.nearest_miss:
            _warn(args, _why_nothing(store, args))
        if args.explain:
            _tell(", ".join(f"{stage} {1000 * seconds:.1f} ms" for stage, seconds in store.timings.items()))
    form = args.format or ("text" if sys.stdout.isatty() else "json")
    if form == "json":
        _print_json(results)
    else:
        from .formats import FORMATS

        FORMATS[form](results, query, sys.stdout)
    return 0


def _refresh(args: argparse.Namespace, store: HybridStore) -> None:
    from .refresh import problems, refresh

    _warn(args, *problems(refresh(store, embed_seconds=0.0 if args.mode == "keyword" else EMBED_SECONDS)))


def _why_nothing(store: HybridStore, args: argparse.Namespace) -> str:
    if not store.stats()["doc_count"]:
        return "the memory is empty; `hybrid-memory ingest --path DIR` fills it"
    if args.min_score:
        return f"nothing found that scores {args.min_score:g}; a lower --min-score shows more"
    if _filters(args):
        return "nothing found under these filters; `hybrid-memory search` without them looks everywhere"
    return "nothing found; other words may help, or fewer; `--refresh` takes in what was written lately"


def _filters(args: argparse.Namespace) -> "Filters | None":
    """None if no filter is asked for. Raises UsageError for a date that is none."""
    if not (args.tag or args.where or any(value is not None for value in (args.collection, args.inside, args.since, args.until))):
        return None
    from datetime import date

    from .dates import first_day
    from .filters import Filters

    for text in (text for text in (args.since, args.until) if text is not None):
        try:
            first_day(text, date.today())
        except ValueError as error:
            raise UsageError(str(error)) from None
    where: dict[str, list[str]] = {}
    for key, value in args.where:
        where.setdefault(key, []).append(value)
    return Filters(args.collection, args.inside, args.tag, where, args.since, args.until)


def run_get(args: argparse.Namespace) -> int:
    from .reading import read

    with _open(args) as store:
        answer = read(store, args.target, max_lines=args.max_lines, max_chars=args.max_chars)
    if answer["changed"]:
        _warn(args, f"{answer['doc_id']} changed since it was indexed; lines that a search gave before may have moved")
    if args.json or not sys.stdout.isatty():
        _print_json(answer)
    else:
        from shlex import quote

        from .terminal import printable

        print(printable(answer["text"]))
        if answer["next"]:
            place = f"line {answer['end_line']} of {answer['total_lines']}"
            _warn(args, f"{place}; `hybrid-memory get {quote(answer['next'])}` goes on")
    return 0


def run_list(args: argparse.Namespace) -> int:
    from .listing import documents

    with _open(args) as store:
        answer = documents(store, filters=_filters(args), limit=args.limit)
    if args.json or not sys.stdout.isatty():
        _print_json(answer)
    else:
        from .terminal import show_documents

        show_documents(answer["documents"], sys.stdout)
    if (shown := len(answer["documents"])) < answer["total"]:
        _warn(args, f"{shown} of {answer['total']} documents; --limit {answer['total']} lists them all")
    return 0


def run_ingest(args: argparse.Namespace) -> int:
    from .ingest import Ingest

    if not any(os.path.exists(os.path.expanduser(path)) for path in args.path):  # before a database is made for nothing
        raise SourceError(f"cannot ingest {', '.join(args.path)}: No such file or directory")
    with _open(args, create=True) as store, _progress(args) as progress:
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
        advice = store.advice() if report.embedded else None
        notes = [f"{problem['path']}: {problem['reason']}" for problem in report.warnings]
        _warn(args, *notes, *store.warnings, *([advice] if advice else []))
    _print_json(vars(report))
    return 1 if report.errors else 0


@contextmanager
def _progress(args: argparse.Namespace) -> Iterator[Callable[[Any], None]]:
    if args.quiet or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from .terminal import ProgressLine

    line = ProgressLine(sys.stderr)
    try:
        yield line
    finally:
        line.end()


def run_watch(args: argparse.Namespace) -> int:
    import signal

    from .watch import Watch

    told: set[str] = set()

    def tell(report: Any) -> None:
        if report.files or report.removed or report.embedded:
            counts = f"{report.files} files, {report.chunks} chunks, {report.removed} removed, {report.embedded} embedded"
            _warn(args, counts + (f", {report.pending} pending" if report.pending else ""))
        problems = [*(f"{problem['path']}: {problem['reason']}" for problem in report.warnings), *store.warnings]
        _warn(args, *(problem for problem in problems if problem not in told))
        told.clear()
        told.update(problems)  # what goes on is told once

    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with _open(args) as store:
            watch = Watch(store, args.path, tell)
            _warn(args, f"watching {', '.join(watch.paths)}; Ctrl-C ends it")
            watch.run()
    except KeyboardInterrupt:
        return 0
    return 0


def run_delete(args: argparse.Namespace) -> int:
    with _open(args) as store:
        if args.doc_id is not None:
            chunks = store.delete(args.doc_id)
            answer: dict[str, Any] = {"doc_id": args.doc_id}
            missing = None if chunks else f"there is no document {args.doc_id!r}; nothing was deleted"
        else:
            answer, chunks, missing = _delete_many(args, store)
        _warn(args, *store.warnings, *([missing] if missing else []))
    _print_json(answer | {"chunks_deleted": chunks})
    return 0


def _delete_many(args: argparse.Namespace, store: HybridStore) -> tuple[dict[str, Any], int, str | None]:
    """The answer's beginning, the number of chunks, and what to say if there was nothing to delete."""
    from . import catalog

    sources = catalog.sources(store.connection)
    if args.collection is not None:
        deleted = store.delete_collection(args.collection)
        key, name, there = "collection", args.collection, sorted({source.collection for source in sources if source.collection})
    else:
        deleted = store.delete_path(args.path)
        key, name, there = "path", catalog.real_path(args.path), [source.path for source in sources]
    nothing = f"there is nothing of {key} {name!r}, so nothing was deleted; there is {', '.join(there) or 'none at all'}"
    return {key: name, "documents_deleted": deleted.documents}, deleted.chunks, None if deleted.documents else nothing


def run_reindex(args: argparse.Namespace) -> int:
    with _open(args) as store, _progress(args) as progress:
        from .ingest import Progress

        done, total = 0, store.stats()["chunk_count"]

        def on_batch(count: int) -> None:
            nonlocal done
            done += count
            progress(Progress("embeddings", done, total, 0))

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


def run_eval(args: argparse.Namespace) -> int:
    from . import evaluation

    queries, qrels = evaluation.read_queries(args.queries), evaluation.read_qrels(args.qrels)
    with _open(args) as store, _progress(args) as progress:
        found = evaluation.evaluate(store, queries, qrels, args.modes, misses=args.misses, progress=progress)
    notes = [f"left out mode {mode}: {reason}" for mode, reason in found.left_out.items()]
    if found.unjudged:
        notes.append(f"{found.unjudged} of {found.queries + found.unjudged} queries have no wanted document; they were not asked")
    if unknown := found.unknown_documents:
        some = ", ".join(unknown[:3]) + (", …" if len(unknown) > 3 else "")
        notes.append(f"{len(unknown)} wanted documents are no document of the store, or several; they count as missed: {some}")
    if args.json or not sys.stdout.isatty():
        answer = found._asdict()
        _print_json(answer if args.misses else {key: answer[key] for key in answer if key != "misses"})
    else:
        from .terminal import show_evaluation

        show_evaluation(found, sys.stdout)
    _warn(args, *notes)
    return 0


def run_mcp(args: argparse.Namespace) -> int:
    try:
        from .mcp_server import build
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"this needs the Python package mcp ({error}); get it with `pip install 'hybrid-memory[mcp]'`"
        ) from error
    import signal

    _settings(args)  # what is wrong with them is told now, not at the first call
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the SDK's would wait for the thread that waits for the next line
    build(lambda: _open(args), lambda: _open(args, create=True)).run()
    return 0


def _open(args: argparse.Namespace, *, create: bool = False) -> HybridStore:
    settings = _settings(args)
    return HybridStore(settings["db_path"], settings, create=create)


def _settings(args: argparse.Namespace) -> config.Settings:
    options = {key: getattr(args, option) for option, key in SETTINGS.items()}
    return config.load(args.config, {key: value for key, value in options.items() if value is not None})


def _print_json(answer: Any) -> None:
    print(json.dumps(answer, indent=2, ensure_ascii=False))


def _tell(message: str) -> None:
    print("hybrid-memory:", " ".join(message.split()), file=sys.stderr)


def _warn(args: argparse.Namespace, *messages: str) -> None:
    if not args.quiet:
        for message in messages:
            _tell(message)


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
    for stream in (sys.stdout, sys.stderr):
        # An unpaired surrogate prints as \udcff, which is how JSON writes it.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(main())
