"""The command `search`."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ... import config
from ...errors import UsageError
from ...search.advice import NOTHING_FOUND, ONLY_FILTERS
from ...search.answer import Answer, operator_lines
from ...search.request import OPTIONS, Request, request_of
from ...search.result import SOME, lean
from ...storage.filters import FILTERS, Filters
from ...store import HybridStore
from .. import arguments
from ..arguments import Parser, add_options, examples, given
from ..opening import is_chosen, open_store
from ..streams import json_lines, output, print_advice, print_message

if TYPE_CHECKING:
    from types import ModuleType

    from ...search.request import Budget

FORMATS = ("text", "json", "jsonl", "md", "paths")
LISTED = 30  # documents, if the query has only filters
NOTES = 5  # default number on a terminal
PASSAGES_OF_NOTE = 4  # passages to search per note, so that enough notes are found


def search_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [QUERY ...]"
    parser.add_argument(
        "words",
        nargs="*",
        metavar="QUERY",
        help='words; "a phrase"; a OR b; '
        "tag:T in:DIR date:2026-03 before:D after:D modified:D where:KEY=V; - leaves out",
    )
    parser.add_argument(
        "--query",
        metavar="QUERY",
        help="the query; if it begins with -, write --query=--maxfail",
    )
    add_options(parser, OPTIONS)
    add_options(parser, FILTERS)
    parser.add_argument(
        "--rerank",
        choices=config.KEYS["rerank"].choices,
        help="the model or server that reorders the first passages",
    )
    refresh = argparse.BooleanOptionalAction
    parser.add_argument(
        "--refresh", action=refresh, help="index changed files of the ingested folders first"
    )
    parser.add_argument("--format", choices=FORMATS, help="default: text on a terminal, else json")
    parser.add_argument("--json", action="store_true", help="short for --format json")

    parser.add_argument(
        "--open",
        type=arguments.positive,
        nargs="?",
        const=1,
        metavar="N",
        help="open result N (default: 1) in $EDITOR",
    )
    parser.add_argument(
        "--full", action="store_true", help="print all fields of each result as JSON"
    )
    examples(
        parser,
        'search "GPU server SSH port" --limit 3',
        'search "how are backups made" --since 3m --budget 1000t',
    )


class View:
    """How to show the results of a command, decided once from the options and the streams."""

    def __init__(self, args: argparse.Namespace) -> None:
        is_terminal = sys.stdout.isatty()
        self.form: str = args.format or ("text" if is_terminal and not args.full else "json")
        self.is_by_note = self.form == "text" and not args.budget and args.per_doc is None
        self.fits_terminal = is_terminal and args.limit is None

    def notes(self, settings: config.Settings, limit: int | None) -> int:
        """The number of notes to show."""
        if limit is not None:
            return limit
        return NOTES if self.uses_usual_limit(settings) else int(settings["limit"])

    def uses_usual_limit(self, settings: config.Settings) -> bool:
        return self.fits_terminal and "limit" not in settings.chosen


def run_search(args: argparse.Namespace) -> int:
    if args.json and args.format not in (None, "json"):
        raise UsageError(f"--json contradicts --format {args.format}; give one of them")
    if args.json:
        args.format = "json"
    if args.full and args.format not in (None, "json", "jsonl"):
        raise UsageError(f"--full contradicts --format {args.format}; it prints JSON")
    query = _query(args)
    view = View(args)
    with open_store(args) as store:
        request = _request(args, query, view, store.config)
        answer = _answer(store, query, request)
        print_advice(args, *operator_lines(answer.operators))
        if answer.warnings == [ONLY_FILTERS] and view.form == "text":
            _list(store, answer.filters, args.limit or LISTED)
            return 0
        _advise(args, store, answer)
        if view.form == "text" and sys.stdout.isatty() and not args.quiet:
            _advise_elsewhere(args, store, query, request, answer)
        if args.explain:
            parts = answer.timings.items()
            print_message(", ".join(f"{part} {1000 * seconds:.1f} ms" for part, seconds in parts))
        results = answer.results
        if view.form == "json" and not args.open:
            fields = results if args.full else map(lean, results)
            with output() as stream:
                print(json_lines(fields), file=stream)
        else:
            _show(args, store, query, results, view)
    return 1 if answer.unanswered else 0


def _list(store: HybridStore, filters: Filters | None, limit: int) -> None:
    """Print the newest documents that match filters."""
    from ...browse.lists import newest  # a search does not need it
    from ..terminal import show_documents

    with output() as stream:
        show_documents(newest(store, filters, limit), stream)


def _answer(store: HybridStore, query: str, request: Request) -> Answer:
    """Answer the query, after a refresh if the settings ask for it."""
    if not store.config["refresh"]:
        return store.answer(query, request)

    from ...sync.refresh import search

    return search(store, query, request, refreshed=True)


def _advise(args: argparse.Namespace, store: HybridStore, answer: Answer) -> None:
    """Print the warnings, the substituted words and the hint; the reason for a failed search even
    with --quiet.
    """
    warnings, hint = answer.warnings, answer.hint
    if hint == NOTHING_FOUND and not store.config["refresh"]:
        hint = f"{hint}; `--refresh` reads recent changes first"
    print_message(*filter(None, [answer.unanswered]))
    print_advice(args, *(warning for warning in warnings if warning != answer.unanswered))
    print_advice(args, *filter(None, [answer.other_words(), hint, answer.more]))


def _advise_elsewhere(
    args: argparse.Namespace, store: HybridStore, query: str, request: Request, answer: Answer
) -> None:
    """If there are only faint matches in a memory that nobody chose, name the surest other one."""
    shown = [*answer.results, *filter(None, [answer.nearest_miss])]
    best = max((result["confidence"] for result in shown), default=0.0)
    if best >= SOME or answer.unanswered or is_chosen(store.config):
        return
    from ..memories import surer_elsewhere  # a search with an answer does not need it

    print_advice(args, *filter(None, [surer_elsewhere(store, query, request, best)]))


def _show(
    args: argparse.Namespace,
    store: HybridStore,
    query: str,
    results: Sequence[Mapping[str, Any]],
    view: View,
) -> None:
    """Print the results in another form than plain JSON, and open one in the editor if asked to."""
    forms = _forms()
    rows = None
    if view.form == "text" and not args.budget:
        results = forms.titled(store, results)
    if view.is_by_note:
        results = forms.by_note(results)[: view.notes(store.config, args.limit)]
        if view.uses_usual_limit(store.config):
            rows = forms.rows_of_terminal()
    with output() as stream:
        forms.show(results, query, view.form, stream, full=args.full, opened=args.open, rows=rows)


def _forms() -> "ModuleType":
    """The module that prints other forms than plain JSON; most calls of agents do not need it."""
    from .. import output as forms

    return forms


def _query(args: argparse.Namespace) -> str:
    """The query of a search. Raises UsageError if it is missing or given twice."""
    if bool(args.words) == (args.query is not None):
        raise UsageError("give the query once, as QUERY or with --query")
    return args.query if args.query is not None else " ".join(args.words)


def _request(
    args: argparse.Namespace, query: str, view: View, settings: config.Settings
) -> Request:
    """Build the request of a command. Results by note need several passages of each."""

    def budget(characters: int) -> "Budget":
        made: Budget = _forms().budget(
            characters, view.form, query, is_terminal=sys.stdout.isatty(), full=args.full
        )
        return made

    request = request_of(_given(args), settings, cost=budget)
    if view.is_by_note:
        return request._replace(limit=PASSAGES_OF_NOTE * view.notes(settings, args.limit))
    return request


def _given(args: argparse.Namespace) -> dict[str, Any]:
    return given(args, OPTIONS) | given(args, FILTERS)
