"""The commands that read the memory: `get`, `list`, `links` and `tags`."""

import sys
from argparse import Namespace
from shlex import quote
from typing import Any, TextIO

from ...browse.lists import broken, documents, links, tags
from ...browse.passage import DocumentPart, read
from ...errors import QueryError, SourceError, UsageError
from ...search.request import filters_of
from ...storage.filters import FILTERS
from .. import arguments
from ..arguments import Parser, add_json, add_options, examples, given
from ..opening import open_store
from ..streams import print_advice, print_answer, print_message, printable, single_line
from ..terminal import show_documents


def get_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] TARGET [TARGET ...]"
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help="a citation (notes/a.md#L12-L30), an id or its end, a path, an alias, a title, "
        "[[Note]], or Note#Heading",
    )
    parser.add_argument(
        "--max-lines",
        type=arguments.positive,
        default=200,
        metavar="N",
        help="at most N lines (default: 200)",
    )
    parser.add_argument(
        "--max-chars",
        type=arguments.positive,
        default=20_000,
        metavar="N",
        help="at most N characters (default: 20000)",
    )
    add_json(parser)
    examples(parser, 'get "memory/2026-01-05.md#L12-L30"', "get atlas pi.md:3-9")


def run_get(args: Namespace) -> int:
    is_one = len(args.targets) == 1
    answers = []
    with open_store(args) as store:
        for target in args.targets:
            try:
                answers.append(
                    read(store, target, max_lines=args.max_lines, max_chars=args.max_chars)
                )
            except (QueryError, SourceError) as error:
                if is_one:
                    raise
                print_message(str(error))
    for answer in answers:
        name = answer["doc_id"]
        if "host" in answer:
            print_advice(args, f"{name} is a file of {answer['host']}; this is its indexed text")
        if answer["changed"]:
            line = f"{name} changed since it was indexed; lines cited before may have moved"
            print_advice(args, line)
    print_answer(
        args, answers[0] if is_one else answers, lambda stream: _show_texts(answers, stream, is_one)
    )
    if sys.stdout.isatty() and not args.json:
        for answer in answers:
            if answer["next"]:
                place = f"line {answer['end_line']} of {answer['total_lines']}"
                print_advice(
                    args, f"{place}; continue with `hybrid-memory get {quote(answer['next'])}`"
                )
    return 0 if len(answers) == len(args.targets) else 1


def _show_texts(answers: list[DocumentPart], stream: TextIO, is_one: bool) -> None:
    """Print the texts; if there are several, each under its citation, as `head` does."""
    for number, answer in enumerate(answers):
        if number > 0:
            print(file=stream)
        if not is_one:
            print(f"==> {single_line(answer['citation'])} <==", file=stream)
        print(printable(answer["text"]), file=stream)


def list_options(parser: Parser) -> None:
    add_options(parser, FILTERS)
    parser.add_argument(
        "--sort",
        choices=("date", "modified"),
        default="date",
        help="newest date or latest change first (default: date)",
    )
    parser.add_argument(
        "--limit",
        type=arguments.positive,
        default=100,
        metavar="N",
        help="how many documents (default: 100)",
    )
    add_json(parser)
    examples(parser, "list --limit 20", "list --tag ops --since 7d")


def run_list(args: Namespace) -> int:
    filters = filters_of(given(args, FILTERS))
    by_change = args.sort == "modified"
    with open_store(args) as store:
        answer = documents(store, filters=filters, limit=args.limit, by_change=by_change)
    print_advice(args, *answer.pop("warnings", []))
    print_answer(args, answer, lambda stream: show_documents(answer["documents"], stream))
    shown = len(answer["documents"])
    total = answer["total"]
    if shown < total:
        print_advice(args, f"{shown} of {total} documents; --limit {total} lists them all")
    return 0


def links_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] [TARGET | --broken]"
    parser.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="a document, as in `get`: atlas, [[Atlas]], an alias",
    )
    parser.add_argument(
        "--broken",
        action="store_true",
        help="list all broken links of all documents instead",
    )
    add_json(parser)
    examples(parser, "links atlas", "links --broken")


def run_links(args: Namespace) -> int:
    if args.broken == (args.target is not None):
        raise UsageError("give either TARGET or --broken")
    with open_store(args) as store:
        answer = broken(store) if args.broken else links(store, args.target)
        show = _show_broken if args.broken else _show_links
        print_answer(args, answer, lambda stream: show(answer, stream))
    return 0


def tags_options(parser: Parser) -> None:
    parser.add_argument(
        "--limit", type=arguments.positive, metavar="N", help="list only the first N tags"
    )
    add_json(parser)
    examples(parser, "tags", "tags --limit 20")


def run_tags(args: Namespace) -> int:
    with open_store(args) as store:
        answer = tags(store, args.limit)
    print_answer(args, answer, lambda stream: _show_tags(answer["tags"], stream))
    return 0


def _show_links(answer: dict[str, Any], stream: TextIO) -> None:
    """Print the links in a document, each with its line, and the links to it."""
    print(f"{single_line(answer['doc_id'])} links to", file=stream)
    for link in answer["links"]:
        note = ""
        if not link["doc_id"]:
            note = "  (no such document)" if link["broken"] else "  (a file)"
        name = single_line(link["doc_id"] or link["target"])
        print(f"  {link['line']:>5}  {name}{note}", file=stream)
    print("is linked from", file=stream)
    for link in answer["linked_from"]:
        print(f"  {single_line(link['citation'])}", file=stream)


def _show_broken(answer: dict[str, Any], stream: TextIO) -> None:
    for link in answer["broken"]:
        print(f"{single_line(link['citation'])}  {single_line(link['target'])}", file=stream)


def _show_tags(tags: list[dict[str, Any]], stream: TextIO) -> None:
    width = max((len(f"{tag['documents']:,}") for tag in tags), default=0)
    for tag in tags:
        print(f"{tag['documents']:>{width},}  {single_line(tag['tag'])}", file=stream)
