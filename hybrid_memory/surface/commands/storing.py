"""The commands `store` and `delete`."""

import os
from argparse import Namespace

from ...errors import SourceError
from ...text.characters import storable_name
from .. import argument_types as types
from .. import requests
from ..arguments import Parser, examples
from ..opening import open_store
from .answers import print_with_warnings


def store_options(parser: Parser) -> None:
    parser.add_argument("--doc-id", type=types.given, required=True, metavar="ID", help="the id of the document")
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", metavar="TEXT", help="the text itself")
    text.add_argument("--file", metavar="PATH", help="a file, whose later changes are followed; - is standard input")
    parser.add_argument(
        "--metadata",
        nargs="+",
        action="extend",
        type=types.key_value,
        default=[],
        metavar="KEY=VALUE",
        help="what filters may ask for",
    )
    examples(
        parser,
        'store --doc-id decisions/port --text "SSH listens on port 2222."',
        "store --doc-id todo --file ~/todo.md",
    )


def run_store(args: Namespace) -> int:
    metadata = dict(args.metadata)
    is_file = args.file is not None and os.path.isfile(os.path.realpath(os.path.expanduser(args.file)))  # else a pipe, or -
    text = "" if is_file else _text(args)
    with open_store(args, create=True) as store:
        put, what = (requests.store_file, args.file) if is_file else (requests.store_text, text)
        print_with_warnings(args, put(store, args.doc_id, what, metadata))
    return 0


def delete_options(parser: Parser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("id", nargs="?", type=storable_name, metavar="ID", help="the id of a document")
    what.add_argument("--doc-id", type=storable_name, metavar="ID", help="the same")
    what.add_argument(
        "--collection", type=storable_name, metavar="NAME", help="remove all of its documents, and make its name free"
    )
    what.add_argument("--path", metavar="DIR", help="remove all documents from this folder or file, even if it no longer exists")
    examples(parser, "delete decisions/port", "delete --path ~/notes")


def run_delete(args: Namespace) -> int:
    with open_store(args) as store:
        doc_id = args.id if args.doc_id is None else args.doc_id
        if doc_id is not None:
            answer = requests.delete_document(store, doc_id)
        elif args.collection is not None:
            answer = requests.delete_collection(store, args.collection)
        else:
            answer = requests.delete_path(store, args.path)
        print_with_warnings(args, answer)
    return 0


def _text(args: Namespace) -> str:
    """The text that is to be stored. Raises SourceError for a file that cannot be read."""
    return args.text if args.file is None else _read(args.file)


def _read(path: str) -> str:
    try:
        with open(0 if path == "-" else path, "rb") as file:
            return file.read().decode()
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read {path}: not UTF-8 at byte {error.start}") from error
