"""The commands `get`, `why` and `list`."""

import sys
from argparse import Namespace

from .. import argument_types as types
from .. import from_arguments, requests
from ..arguments import Parser, add_filters, examples
from ..opening import open_store
from ..printable import printable
from ..streams import tell
from .answers import advise, print_answer


def get_options(parser: Parser) -> None:
    parser.add_argument(
        "target", metavar="TARGET", help="a citation (notes/a.md#L12-L30), the id of a document, the end of an id, or a path"
    )
    parser.add_argument("--max-lines", type=types.positive, default=200, metavar="N", help="at most N lines (default: 200)")
    parser.add_argument(
        "--max-chars", type=types.positive, default=20_000, metavar="N", help="at most N characters (default: 20000)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, 'get "memory/2026-01-05.md#L12-L30"', "get atlas")


def run_get(args: Namespace) -> int:
    with open_store(args) as store:
        answer = requests.get(store, args.target, max_lines=args.max_lines, max_chars=args.max_chars)
    if answer["changed"]:
        tell(f"{answer['doc_id']} changed since it was indexed; lines that a search gave before may have moved")
    print_answer(args, answer, lambda stream: print(printable(answer["text"]), file=stream))
    if answer["next"] and sys.stdout.isatty() and not args.json:
        from shlex import quote

        place = f"line {answer['end_line']} of {answer['total_lines']}"
        advise(args, f"{place}; `hybrid-memory get {quote(answer['next'])}` goes on")
    return 0


def why_options(parser: Parser) -> None:
    parser.add_argument("note", metavar="NOTE", help="the path of a file, the id of a document, or the end of an id")
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, "why ~/notes/draft.txt", "why memory/2026-01-05.md --json")


def run_why(args: Namespace) -> int:
    from ..terminal import show_reason

    with open_store(args) as store:
        answer = requests.why(store, args.note)
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
