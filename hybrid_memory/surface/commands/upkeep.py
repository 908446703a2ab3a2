"""The commands that change and check the memory: `store`, `delete`, `reindex` and `stats`."""

import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ...addresses import absolute
from ...errors import ConfigError, SourceError, UsageError
from ...indexing.documents import Deleted, delete_collection, delete_document, delete_path
from ...messages import Progress, count_batches
from ...options import SWITCH, TEXT, Option
from ...storage.source import real_path
from ...store import HybridStore
from ...sync.refresh import store_file
from ...sync.report import Report
from ...sync.texts import rechunk_stored_texts
from ...text.characters import storable, storable_name
from .. import arguments
from ..arguments import DATA, Parser, add_json, examples
from ..opening import open_store, place, settings
from ..streams import print_advice, print_answer, print_message, print_with_warnings
from ..terminal import progress_line, show_deleted, show_memories, show_stats, show_stored

METADATA = Option(
    DATA, "replaces the present metadata; omit it to keep them", name="metadata", repeated=True
)
APPEND = Option(SWITCH, "append to the present text", name="append", default=False)
SUPERSEDED = Option(TEXT, "the id of a document that is out of date from now on", name="replaces")


def store_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] --doc-id ID (--text TEXT | --file PATH)"
    parser.add_argument(
        "--doc-id",
        type=arguments.non_empty,
        required=True,
        metavar="ID",
        help="the id of the document",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--text", metavar="TEXT", help="the text itself")
    source.add_argument(
        "--file",
        metavar="PATH",
        help="a file, whose later changes are indexed, too; - is standard input",
    )
    parser.add_argument(
        "--metadata",
        nargs="+",
        action="extend",
        type=arguments.word(METADATA),
        default=[],
        metavar="KEY=VALUE",
        help="metadata for filters: owner=ann 'tags=[ops, ssh]' (default: the document's current metadata)",
    )
    parser.add_argument(
        "--append",
        action="store_true",
        help="append the text to the stored one, as a paragraph",
    )
    parser.add_argument(
        "--replaces",
        type=storable_name,
        metavar="ID",
        help="a document that is out of date from now on: its passages name this one",
    )
    add_json(parser)
    examples(
        parser,
        'store --doc-id decisions/port --text "SSH listens on port 2222."',
        "store --doc-id todo --file ~/todo.md",
    )


def run_store(args: Namespace) -> int:
    metadata = dict(args.metadata) or None
    # Otherwise a pipe, or -
    is_file = args.file is not None and os.path.isfile(
        os.path.realpath(os.path.expanduser(args.file))
    )
    if is_file and args.append:
        raise UsageError("--append needs a text; a file replaces the document")
    if is_file and args.replaces is not None:
        raise UsageError(
            "--replaces needs a text; a file can have `supersedes: ID` as front matter"
        )
    text = "" if is_file else _text(args)
    with open_store(args, create=True) as store:
        if is_file:
            chunks, warnings = store_file(store, args.doc_id, args.file, metadata or {})
            answer = {"doc_id": args.doc_id, "chunks": chunks, "warnings": warnings}
        else:
            answer = store_text(
                store, args.doc_id, text, metadata, append=args.append, replaces=args.replaces
            )
        print_with_warnings(args, answer, lambda stream: show_stored(answer, stream))
    return 0


def store_text(
    store: HybridStore,
    doc_id: str,
    text: str,
    metadata: Mapping[str, Any] | None,
    *,
    append: bool = False,
    replaces: str | None = None,
) -> dict[str, Any]:
    """Store a text. Return its `doc_id`, `chunks` and `warnings`. Raises UsageError without an id."""
    if not doc_id:
        raise UsageError("doc_id is empty; a document needs an id")
    chunks = store.store(doc_id, text, metadata, append=append, replaces=replaces or None)
    return {"doc_id": doc_id, "chunks": chunks, "warnings": store.warnings}


def delete_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] (ID | --collection NAME | --path DIR)"
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "id", nargs="?", type=storable_name, metavar="ID", help="the id of a document"
    )
    what.add_argument("--doc-id", type=storable_name, metavar="ID", help="the same")
    what.add_argument(
        "--collection",
        type=storable_name,
        metavar="NAME",
        help="remove all its documents, and free its name",
    )
    what.add_argument(
        "--path",
        metavar="DIR",
        help="remove all documents from this folder or file, even if it no longer exists",
    )
    add_json(parser)
    examples(parser, "delete decisions/port", "delete --path ~/notes")


def run_delete(args: Namespace) -> int:
    with open_store(args) as store:
        doc_id = args.id if args.doc_id is None else args.doc_id
        if doc_id is not None:
            answer = delete_by_id(store, doc_id)
        elif args.collection is not None:
            sources = store.storage.sources.all()
            known = sorted({source.collection for source in sources if source.collection})
            deleted = delete_collection(store.storage, args.collection)
            answer = _deleted("collection", args.collection, deleted, known)
        else:
            known = [source.path for source in store.storage.sources.all()]
            deleted = delete_path(store.storage, args.path)
            answer = _deleted("path", real_path(args.path), deleted, known)
        print_with_warnings(args, answer, lambda stream: show_deleted(answer, stream))
    return 0


def _text(args: Namespace) -> str:
    """The text to store. Raises SourceError if a file cannot be read."""
    return args.text if args.file is None else _read(args.file)


def _read(path: str) -> str:
    try:
        is_stdin = path == "-"
        # Standard input stays open, or the database would get its descriptor.
        with open(0 if is_stdin else path, "rb", closefd=not is_stdin) as file:
            return file.read().decode()
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"cannot read {path}: not UTF-8 at byte {error.start}") from error


def reindex_options(parser: Parser) -> None:
    parser.add_argument(
        "--embeddings",
        action="store_true",
        help="also embed all chunks again, as a change of model requires",
    )
    examples(parser, "reindex", "reindex --embeddings")


def run_reindex(args: Namespace) -> int:
    with open_store(args) as store, progress_line(args.quiet) as progress:
        answer = _reindex(store, embeddings=args.embeddings, progress=progress)
        is_complete = answer["status"] == "ok"
        (partial(print_advice, args) if is_complete else print_message)(*answer.pop("warnings"))
    print_answer(args, answer)
    return 0 if is_complete else 1


def stats_options(parser: Parser) -> None:
    parser.add_argument(
        "--all",
        action="store_true",
        help="list all memories of this user: path, size, folders, last update",
    )
    add_json(parser)
    examples(parser, "stats", "stats --all")


def run_stats(args: Namespace) -> int:
    if args.all:
        from ..memories import described, memories

        chosen = settings(args)
        found = [described(path, chosen) for path in memories(absolute(chosen["db_path"]))]
        print_answer(args, found, lambda stream: show_memories(found, stream))
        return 0
    with open_store(args) as store:
        answer = store.stats() | place(args, store.path)
        print_answer(args, answer, lambda stream: show_stats(answer, stream))
        print_advice(args, *filter(None, [store.why_not_working(store.fitting_embedder)]))
    return 0


def delete_by_id(store: HybridStore, doc_id: str) -> dict[str, Any]:
    """Remove a document. `chunks_deleted` is 0 if it does not exist."""
    deleted = delete_document(store.storage, storable(doc_id))
    if deleted.documents:
        missing = None
    else:
        missing = f"there is no document {doc_id!r}; nothing was deleted"
    return {
        "doc_id": doc_id,
        "chunks_deleted": deleted.chunks,
        "warnings": _without_none(deleted.warning, missing),
    }


def _reindex(
    store: HybridStore, *, embeddings: bool, progress: "Callable[[Progress], None]"
) -> dict[str, Any]:
    """Re-chunk the texts without a file if the settings changed, and rebuild the indexes.

    With `embeddings`, embed all chunks again; `status` tells whether all succeeded. Raises
    ConfigError without a model.
    """
    if embeddings and store.embedder is None:
        raise ConfigError("there is no embedding model; choose one with --provider")
    report = Report()
    rechunk_stored_texts(store, report)
    answer: dict[str, Any] = {"status": "ok", "warnings": report.warning_lines()}
    if embeddings:
        try:
            embedded = store.embed(
                lambda total: count_batches("embeddings", total, progress), anew=True
            )
        except KeyboardInterrupt as error:
            raise KeyboardInterrupt(
                "interrupted; the old embeddings stay in use; `hybrid-memory update` continues"
            ) from error
        pending = store.storage.embeddings.count_pending()
        status = "ok" if embedded.fits and not pending else "incomplete"
        answer = {
            "status": status,
            "embedded": embedded.chunks,
            "pending": pending,
            "warnings": answer["warnings"] + embedded.problems,
        }
    return answer | {"chunks": store.reindex()}


def _deleted(key: str, name: str, deleted: "Deleted", known: list[str]) -> dict[str, Any]:
    """The result of deleting a collection or a path, with a warning if it does not exist."""
    nothing = f"nothing was deleted, because there is no {key} {name!r}; known: {', '.join(known) or 'none'}"
    is_known = deleted.documents or deleted.sources
    warnings = _without_none(deleted.warning, None if is_known else nothing)
    return {
        key: name,
        "documents_deleted": deleted.documents,
        "chunks_deleted": deleted.chunks,
        "warnings": warnings,
    }


def _without_none(*warnings: str | None) -> list[str]:
    return [warning for warning in warnings if warning]
