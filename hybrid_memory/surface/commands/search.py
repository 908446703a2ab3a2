"""The command `search`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import config
from ...errors import UsageError
from ...seams import PICKER, load
from ...search.answer import Answer
from ...search.request import MODES, Request, request_defaults
from ...search.result import UNCLEAR, is_unclear, lean
from ...storage.filters import Filters
from ...store import ONLY_FILTERS, HybridStore
from .. import arguments
from ..arguments import Parser, add_filters, examples, open_store
from ..streams import advise, json_lines, output, tell

if TYPE_CHECKING:
    from types import ModuleType

    from ...search.request import Budget

FORMATS = ("text", "json", "jsonl", "md", "paths")
# Passages that the picker looks for, and documents that are listed, unless the user says how many
PICKED = 30
NOTES = 5  # on a terminal, if nobody says how many
PASSAGES_OF_NOTE = 4  # that are looked for, so that there are as many notes
SAME_NAME = ("mode", "exact", "fts_syntax", "context", "explain")


def search_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [QUERY ...]"
    parser.add_argument(
        "words",
        nargs="*",
        metavar="QUERY",
        help='words; "a phrase"; a OR b; '
        "tag:T in:DIR date:2026-03 before:D after:D modified:D KEY:V; - leaves out",
    )
    parser.add_argument(
        "--query",
        metavar="QUERY",
        help="the query; one that begins with - is written --query=--maxfail",
    )
    parser.add_argument(
        "--limit",
        type=arguments.positive,
        metavar="N",
        help="how many results (default: 10; on a terminal, 5 notes)",
    )
    parser.add_argument("--mode", choices=MODES, default="hybrid", help="default: hybrid")
    parser.add_argument(
        "--context",
        type=arguments.count,
        default=0,
        metavar="N",
        help="add N chunks before and N after each result",
    )
    parser.add_argument(
        "--per-doc",
        type=arguments.count,
        metavar="N",
        help="at most N results from one document; 0: any number",
    )
    add_filters(parser)
    parser.add_argument(
        "--min-score",
        type=arguments.share,
        metavar="S",
        help="leave out results with a lower score (0 to 1)",
    )
    parser.add_argument(
        "--min-confidence",
        type=arguments.share,
        metavar="C",
        help="leave out results with a lower confidence (0 to 1)",
    )
    parser.add_argument(
        "--floor",
        type=arguments.share,
        metavar="C",
        default=0.0,
        help="no results if the surest has a lower confidence (0 to 1)",
    )
    parser.add_argument(
        "--half-life",
        type=arguments.days,
        nargs="?",
        const=30.0,
        metavar="DAYS",
        help="halve the score for every DAYS of a document's age (default: never; 30 without DAYS)",
    )
    parser.add_argument(
        "--today",
        type=arguments.day,
        metavar="DATE",
        help='count ages, and words such as "yesterday", from this day: 2026-01-05',
    )
    parser.add_argument(
        "--rerank",
        choices=config.CHOICES["rerank"],
        help="let this model or server reorder the first passages",
    )
    parser.add_argument(
        "--explain",
        action="store_true",
        help="show what each score is made of, and how long each stage took",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="compare with every embedding, without the vector index",
    )
    parser.add_argument(
        "--fts-syntax",
        action="store_true",
        help="QUERY has the syntax of FTS5: prefix*, NEAR(a b, 5), a NOT b, heading: word",
    )
    refresh = argparse.BooleanOptionalAction
    parser.add_argument(
        "--refresh", action=refresh, help="first read what has changed in the ingested folders"
    )
    parser.add_argument("--format", choices=FORMATS, help="default: text on a terminal, else json")
    parser.add_argument(
        "--json", action="store_const", dest="format", const="json", help="short for --format json"
    )

    parser.add_argument(
        "--budget",
        type=arguments.budget,
        metavar="N",
        help="print at most N characters; 1000t: tokens of 4 characters",
    )
    parser.add_argument(
        "--open",
        type=arguments.positive,
        nargs="?",
        const=1,
        metavar="N",
        help="open result N (default: 1) in $EDITOR",
    )
    parser.add_argument(
        "--print",
        dest="prints",
        action="store_true",
        help="choose on the terminal, and print the paths, as for $EDITOR $(...)",
    )
    parser.add_argument(
        "--full", action="store_true", help="print all that is known of each result as JSON"
    )
    examples(
        parser,
        'search "GPU server SSH port" --limit 3',
        'search "how are backups made" --since 3m --budget 1000t',
    )


def run_search(args: argparse.Namespace) -> int:
    filters = arguments.filters(args)
    has_query = bool(args.words) or args.query is not None
    is_on_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if args.prints and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--print needs a terminal, on which something can be chosen")
    if args.prints or (is_on_terminal and not has_query and not args.format):
        return _pick(args, filters)
    query = _query(args)
    with open_store(args) as store:
        request = _request(args, filters, store.config)
        answer = _answer(store, query, request)
        if answer.warnings == [ONLY_FILTERS] and _form(args) == "text":
            _list(store, answer.filters, args.limit or PICKED)
            return 0
        answer.require(args.floor)
        _advise(args, store, request, answer)
        if args.explain:
            parts = answer.timings.items()
            tell(", ".join(f"{part} {1000 * seconds:.1f} ms" for part, seconds in parts))
        results = answer.results
        form = _form(args)
        if form == "json" and not args.open:
            fields = results if args.full else map(lean, results)
            with output() as stream:
                print(json_lines(fields), file=stream)
        else:
            _show(args, store, query, results, form)
    return 1 if answer.unanswered else 0


def _list(store: HybridStore, filters: Filters | None, limit: int) -> None:
    """Print the newest of the documents that filters leave."""
    from ...views import newest  # which a search does not need
    from ..terminal import show_documents

    with output() as stream:
        show_documents(newest(store, filters, limit), stream)


def _answer(store: HybridStore, query: str, request: Request) -> Answer:
    """Return the answer, after what has changed was taken in if the settings ask for that."""
    if not store.config["refresh"]:
        return store.answer(query, request)

    from ...sync.refresh import search

    return search(store, query, request, refreshed=True)


def _advise(args: argparse.Namespace, store: HybridStore, request: Request, answer: Answer) -> None:
    """Tell the warnings; then, unless --quiet, what the words found instead and why there is nothing
    or nothing clear.
    """
    warnings = answer.warnings
    advice = []
    if answer.nearest_miss:  # of which the last line tells
        advice = warnings[-1:]
        warnings = warnings[:-1]
    elif not (answer.results or answer.unanswered or ONLY_FILTERS in warnings):
        in_force = request.changed(filters=answer.filters)
        advice = [_forms().why_nothing(store, in_force, refreshed=store.config["refresh"])]
    elif is_unclear(answer.results):
        advice = [UNCLEAR]
    tell(*warnings)
    advise(args, *filter(None, [answer.other_words(), *advice]))


def _show(
    args: argparse.Namespace,
    store: HybridStore,
    query: str,
    results: Sequence[Mapping[str, Any]],
    form: str,
) -> None:
    """Print the results in a form that is not plain JSON, and open one in the editor if asked to."""
    forms = _forms()
    rows = None
    if form == "text" and not args.budget:
        results = forms.titled(store, results)
    if _is_by_note(args):
        results = forms.by_note(results)[: _count(store.config)]
        if sys.stdout.isatty() and "limit" not in store.config.chosen:
            rows = forms.rows_of_terminal()
    with output() as stream:
        forms.show(results, query, form, stream, full=args.full, opened=args.open, rows=rows)


def _forms() -> "ModuleType":
    """Return the module that prints what is not plain JSON, which most calls of agents do not need."""
    from .. import output as forms

    return forms


def _pick(args: argparse.Namespace, filters: Filters | None) -> int:
    """Let the user search on the whole terminal, and open what is chosen, or print it."""
    pick = load(PICKER)

    def search(store: HybridStore, query: str, mode: str | None) -> Answer:
        request = _request(args, filters, store.config)
        if "limit" not in store.config.chosen:
            request = request.changed(limit=PICKED)
        return store.answer(
            query,
            request.changed(
                mode=mode or request.mode, rerank=mode is None, typed=mode == "keyword"
            ),
        )

    args.budget = None
    with open_store(args):  # what is wrong is told before the screen is taken
        pass
    settings = arguments.settings(args)
    query = args.query if args.query is not None else " ".join(args.words)
    picked = pick(
        lambda: HybridStore(settings["db_path"], settings, create=False),
        search,
        query,
        prints=args.prints,
    )
    if picked:
        with output() as stream:
            _forms().show(picked, query, args.format or "paths", stream, full=args.full)
    return 0


def _query(args: argparse.Namespace) -> str:
    """Return the query of a search. Raises UsageError if it is missing or given twice."""
    if bool(args.words) == (args.query is not None):
        raise UsageError("give the query once, as QUERY or with --query")
    return args.query if args.query is not None else " ".join(args.words)


def _request(
    args: argparse.Namespace, filters: Filters | None, settings: config.Settings
) -> Request:
    """Return the options of a search, which the settings complete."""
    same = {name: getattr(args, name) for name in SAME_NAME}
    same |= request_defaults(settings)
    budget = _budget(args) if args.budget else None
    if budget and "limit" not in settings.chosen:
        same["limit"] = budget.pool
    elif _is_by_note(args):
        same["limit"] = PASSAGES_OF_NOTE * _count(settings)
    return Request(
        **same, budget=budget, filters=filters, half_life_days=args.half_life, today=args.today
    )


def _is_by_note(args: argparse.Namespace) -> bool:
    """Return whether a note is shown once, with its best passage."""
    return _form(args) == "text" and not args.budget and args.per_doc is None


def _count(settings: config.Settings) -> int:
    """Return how many notes are shown."""
    is_chosen = "limit" in settings.chosen or not sys.stdout.isatty()
    return int(settings["limit"]) if is_chosen else NOTES


def _form(args: argparse.Namespace) -> str:
    """Return the format of the results."""
    if args.format:
        return str(args.format)
    return "text" if sys.stdout.isatty() else "json"


def _budget(args: argparse.Namespace) -> "Budget":
    budget: Budget = _forms().budget(
        args.budget, _form(args), _query(args), is_terminal=sys.stdout.isatty(), full=args.full
    )
    return budget
