"""The commands `get`, `why` and `list`."""

import sys
from argparse import Namespace
from typing import TextIO

from ...errors import QueryError, SourceError
from .. import argument_types as types
from .. import from_arguments, requests
from ..arguments import Parser, add_filters, examples
from ..opening import open_store
from ..printable import harmless, printable
from ..streams import tell
from .answers import advise, print_answer


def get_options(parser: Parser) -> None:
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help="a citation (notes/a.md#L12-L30), an id or its end, a path, an alias, a title, [[Note]], or Note#Heading",
    )
    parser.add_argument("--max-lines", type=types.positive, default=200, metavar="N", help="at most N lines (default: 200)")
    parser.add_argument(
        "--max-chars", type=types.positive, default=20_000, metavar="N", help="at most N characters (default: 20000)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, 'get "memory/2026-01-05.md#L12-L30"', "get atlas pi.md:3-9")


def run_get(args: Namespace) -> int:
    is_one, answers = len(args.targets) == 1, []
    with open_store(args) as store:
        for target in args.targets:
            try:
                answers.append(requests.get(store, target, max_lines=args.max_lines, max_chars=args.max_chars))
            except (QueryError, SourceError) as error:
                if is_one:
                    raise
                tell(str(error))
    for answer in answers:
        if "host" in answer:
            tell(f"{answer['doc_id']} is a file of {answer['host']}; this is its text as it was indexed")
        if answer["changed"]:
            tell(f"{answer['doc_id']} changed since it was indexed; lines that a search gave before may have moved")
    print_answer(args, answers[0] if is_one else answers, lambda stream: _show_texts(answers, stream, is_one))
    if sys.stdout.isatty() and not args.json:
        from shlex import quote

        for answer in (answer for answer in answers if answer["next"]):
            place = f"line {answer['end_line']} of {answer['total_lines']}"
            advise(args, f"{place}; `hybrid-memory get {quote(answer['next'])}` goes on")
    return 0 if len(answers) == len(args.targets) else 1


def _show_texts(answers: list[requests.Answer], stream: TextIO, is_one: bool) -> None:
    """Print the texts, several of them each under its citation, as `head` does it."""
    for number, answer in enumerate(answers):
        if not is_one:
            print(f"{'' if number == 0 else chr(10)}==> {harmless(answer['citation'])} <==", file=stream)
        print(printable(answer["text"]), file=stream)


def why_options(parser: Parser) -> None:
    parser.add_argument("note", metavar="NOTE", help="the path of a file, the id of a document, or the end of an id")
    parser.add_argument("words", nargs="*", metavar="QUERY", help="also tell at which rank a search has it")
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, "why ~/notes/draft.txt", 'why atlas "which port does SSH use?"')


def run_why(args: Namespace) -> int:
    from ..terminal import show_reason

    with open_store(args) as store:
        answer = requests.why(store, args.note, " ".join(args.words) if args.words else None)
    tell(*answer.get("search", {}).pop("warnings", []))
    print_answer(args, answer, lambda stream: show_reason(answer, stream))
    return 0 if answer["current"] else 1


def list_options(parser: Parser) -> None:
    add_filters(parser)
    parser.add_argument("--limit", type=types.positive, default=100, metavar="N", help="how many documents (default: 100)")
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, "list --limit 20", "list --tag ops --since 7d")


def run_list(args: Namespace) -> int:
    from ..terminal import show_documents

    with open_store(args) as store:
        answer = requests.list_documents(store, filters=from_arguments.filters(args), limit=args.limit)
    print_answer(args, answer, lambda stream: show_documents(answer["documents"], stream))
    if (shown := len(answer["documents"])) < answer["total"]:
        advise(args, f"{shown} of {answer['total']} documents; --limit {answer['total']} lists them all")
    return 0
