"""The commands `links` and `tags`."""

from argparse import Namespace
from typing import Any, TextIO

from ...errors import UsageError
from .. import requests
from ..arguments import Parser, examples
from ..opening import open_store
from ..printable import harmless
from .answers import print_answer


def links_options(parser: Parser) -> None:
    parser.add_argument("target", nargs="?", metavar="TARGET", help="a document, as `get` takes it: atlas, [[Atlas]], an alias")
    parser.add_argument("--broken", action="store_true", help="instead, all links of all documents that lead nowhere")
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, "links atlas", "links --broken")


def run_links(args: Namespace) -> int:
    if args.broken == (args.target is not None):
        raise UsageError("give either TARGET or --broken")
    with open_store(args) as store:
        answer = requests.broken_links(store) if args.broken else requests.links(store, args.target)
    print_answer(args, answer, lambda stream: _show_broken(answer, stream) if args.broken else _show_links(answer, stream))
    return 0


def tags_options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, on a terminal too")
    examples(parser, "tags", "tags --json")


def run_tags(args: Namespace) -> int:
    with open_store(args) as store:
        answer = requests.tags(store)
    print_answer(args, answer, lambda stream: _show_tags(answer["tags"], stream))
    return 0


def _show_links(answer: dict[str, Any], stream: TextIO) -> None:
    """The links in a document, each with its line, and those that lead to it."""
    print(f"{harmless(answer['doc_id'])} links to", file=stream)
    for link in answer["links"]:
        note = "" if link["doc_id"] else "  (no such document)" if link["broken"] else "  (a file)"
        print(f"  {link['line']:>5}  {harmless(link['doc_id'] or link['target'])}{note}", file=stream)
    print("is linked from", file=stream)
    for link in answer["linked_from"]:
        print(f"  {harmless(link['citation'])}", file=stream)


def _show_broken(answer: dict[str, Any], stream: TextIO) -> None:
    for link in answer["broken"]:
        print(f"{harmless(link['citation'])}  {harmless(link['target'])}", file=stream)


def _show_tags(tags: list[dict[str, Any]], stream: TextIO) -> None:
    width = max((len(f"{tag['documents']:,}") for tag in tags), default=0)
    for tag in tags:
        print(f"{tag['documents']:>{width},}  {harmless(tag['tag'])}", file=stream)
