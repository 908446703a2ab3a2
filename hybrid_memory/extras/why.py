"""The command `why`: why a note is or is not in the store, and where a search has it. Changes
nothing.

`missing` lists the files of the ingested folders that are not in, each with the rule that keeps it
out; it reads no file that is in. `explain` tells of one note whether it is in and current; if not,
the rule that keeps it out, and the way out. `rank` tells where a search has it, in each leg and in
all, what stands before it, and which words of the query it lacks.
"""

import json
import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from glob import escape
from shlex import quote
from typing import Any, NamedTuple, TextIO

from ..documents.files import (
    EXCLUDED,
    HIDDEN,
    LINK,
    OTHER_WORKSPACE,
    PATTERN,
    SKIPPED_FOLDERS,
    SPECIAL,
    TEMPLATES,
    UNKNOWN_WORKSPACE,
    BadFileError,
    Wanted,
    open_regular,
)
from ..documents.formats import format_of, refusal
from ..documents.markdown import parse
from ..errors import QueryError
from ..search.answer import operator_lines
from ..search.request import Request, request_of
from ..storage.source import (
    Refusal,
    Source,
    StoredDocument,
    default_collection,
    is_in,
    refusal_limits,
)
from ..storage.target import find
from ..store import HybridStore, retry_once
from ..surface.arguments import Parser, add_json, examples, open_store
from ..surface.output import confidence_text, points
from ..surface.streams import harmless, print_answer, tell
from ..surface.terminal import Style
from ..sync.plan import by_claim
from ..sync.texts import chunking_of_texts
from ..text.characters import hasher, plural, spellings
from ..text.query import Query

NEW = "new"  # nothing keeps it out: it was not there, or could not be read, at the last ingest
TAKEN = "id taken"
UNREADABLE = "unreadable"

CUT_OTHERWISE = "it was cut into chunks with other settings"
REASONS = {
    "hidden": "folders whose name begins with a dot are left out",
    "node_modules": "folders of this name are left out",
    "pattern": "no pattern of the folder matches its name",
    "excluded": "--exclude leaves it out",
    LINK: "symbolic links are not followed",
    SPECIAL: "only regular files are read",
    TEMPLATES: "the vault's settings name it as the folder of templates",
    OTHER_WORKSPACE: "its session began in a folder outside the workspace",
    UNKNOWN_WORKSPACE: "it does not say in which folder its session began",
    NEW: "it has not been read yet",
}

FIRST_STEPS = {  # before the ingest that takes a file in
    "encoding": "saved as text in UTF-8, ",
    "unreadable": "once you may read it, ",
    "package": "then ",
}

# Of a document that is in; None of one that is not
KEYS = ("source", "chunks", "pending", "date", "indexed_at")

BLOCK = 1 << 20  # bytes of a file that are in memory at a time
DEPTH = 1000  # results that are looked through
BEFORE = 3  # results before it that are named
NO_END = 2**31 - 1  # more lines than any document has


class Missing(NamedTuple):
    """A file, or a folder with all that is in it, that is not in the store."""

    path: str
    source: Source
    rule: str
    reason: str


class Place(NamedTuple):
    """A path as a source reaches it: by way of `names`, from the source's folder on."""

    source: Source
    path: str
    names: list[str]


class Verdict(NamedTuple):
    """What keeps a note out, or should be known of it, and what to do; None where nothing does."""

    rule: str | None = None
    reason: str | None = None
    way_out: str | None = None


def why_options(parser: Parser) -> None:
    parser.usage = f"{parser.prog} [options] NOTE [QUERY ...]"
    parser.add_argument(
        "note", metavar="NOTE", help="the path of a file, the id of a document, or the end of an id"
    )
    parser.add_argument(
        "words", nargs="*", metavar="QUERY", help="also tell at which rank a search has it"
    )
    add_json(parser)
    examples(parser, "why ~/notes/draft.txt", 'why atlas "which port does SSH use?"')


def run_why(args: Namespace) -> int:
    with open_store(args) as store:
        answer = explain(store, args.note)
        if args.words and answer["in_memory"]:
            answer["search"] = rank(store, answer["doc_id"], " ".join(args.words))
    if "search" in answer:
        tell(*operator_lines(answer["search"]["operators"]), *answer["search"].pop("warnings"))
    print_answer(args, answer, lambda stream: _show(answer, stream))
    return 0 if answer["current"] else 1


def missing(store: HybridStore) -> list[Missing]:
    """Return everything below the ingested folders that is not in. A folder that is left out stands
    for what is in it.
    """
    indexed = {file.path for file in store.storage.catalog.source_files()}
    refusals = store.storage.sources.refusals()
    files: dict[str, Missing] = {}
    left_out: dict[str, Missing] = {}
    for source in store.storage.sources.all():
        walk = source.walk()
        for file in walk.file(source.path) if source.is_file else walk:
            if file.path not in indexed:
                relative = os.path.basename(file.path) if source.is_file else file.relative
                doc_id = source.doc_id(relative)
                files[file.path] = of_file(store, source, file.path, doc_id, refusals)
        for path, rule in walk.left_out.items():
            if path not in indexed:
                left_out[path] = Missing(path, source, rule, REASONS[rule])
        for path, reason in walk.unread:
            files[path] = Missing(path, source, UNREADABLE, reason)
    others = [file for path, file in left_out.items() if path not in files]
    return [*files.values(), *others]


def of_file(
    store: HybridStore, source: Source, path: str, doc_id: str, refusals: Mapping[str, Refusal]
) -> Missing:
    """Return why a file that no rule of its folder leaves out is not in. Reads the file, unless
    `refusals`, those of the last ingest by path, tell.
    """
    owner = store.storage.documents.get(doc_id)
    if owner and owner.path != path:
        holder = owner.path or "a text that was put in by `store`"
        return Missing(path, source, TAKEN, f"its id {doc_id!r} is that of {holder}")
    refusal_before = refusals.get(path)
    if refusal_before and _still_holds(refusal_before, path, store.config):
        return Missing(path, source, refusal_before.kind, refusal_before.reason)
    refused = refusal(path, store.config["max_file_bytes"], source.follow_symlinks)
    kind, reason = refused or (NEW, REASONS[NEW])
    return Missing(path, source, kind, reason)


def _still_holds(refusal: Refusal, path: str, settings: Mapping[str, Any]) -> bool:
    """Return whether a file that the last ingest refused would be refused again."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    limits = refusal_limits(settings)
    return refusal.holds(status.st_mtime, status.st_size, limits, refusal.seconds)


def is_up_to_date(path: str, mtime: float, size: int, status: os.stat_result) -> bool:
    """Return whether a file is as it was when it was indexed, or has too little new text to be read
    again. Raises OSError.
    """
    if (status.st_mtime, status.st_size) == (mtime, size):
        return True
    reader = format_of(path)
    return not reader.is_due(path, size, status.st_mtime, status.st_size, follow_symlinks=True)


def holds_what_was_indexed(document: StoredDocument, status: os.stat_result) -> bool:
    """Return whether a document's file has the bytes that were indexed, and at most too little new
    text after them to be read again. Reads the file.

    Raises OSError and BadFileError.
    """
    path = str(document.path)
    if status.st_size != document.size and not is_up_to_date(
        path, document.mtime, document.size, status
    ):
        return False
    state = hasher()
    left = document.size
    with open_regular(path, follow_symlinks=True) as stream:
        while left and (data := stream.read(min(left, BLOCK))):
            state.update(data)
            left -= len(data)
    return state.digest() == document.content_hash


@retry_once
def explain(store: HybridStore, note: str) -> dict[str, Any]:
    """Return what keeps a note out, or what the store has of it. A note is the path of a file, or a
    document as `get` takes it.

    In the answer, `in_memory` and `current` are what the exit status tells. `rule` is a word for
    what keeps it out, makes it out of date or should be known of it, `reason` says so in a
    sentence, and `way_out` what to do; they may be None. Raises QueryError if there is neither such
    a file nor such a document, and for a folder that no rule leaves out.
    """
    with store.storage.snapshot():
        path = _existing(note)
        if path is None:
            doc_id, _ = find(store.storage, note)
            return _document(store, doc_id)
        places = list(_places(store, path))
        doc_id_of_path = _indexed_as(store, path, places)
        if doc_id_of_path:
            return _document(store, doc_id_of_path)
        return _file(store, path, places)


def _existing(note: str) -> str | None:
    """Return the absolute path, if something is there."""
    # No file has such a name; or the working directory no longer exists
    with suppress(ValueError, OSError):
        path = os.path.abspath(os.path.expanduser(note))
        return path if os.path.lexists(path) else None
    return None


def _places(store: HybridStore, path: str) -> Iterator[Place]:
    """Yield the path as each source that it is in reaches it, first the one that would take it in."""
    for source in by_claim(store.storage):
        folder = path
        names: list[str] = []
        while os.path.realpath(folder) != source.path and folder != os.path.dirname(folder):
            names.insert(0, os.path.basename(folder))
            folder = os.path.dirname(folder)
        fits = source.is_file == (not names) or os.path.isdir(path)
        if os.path.realpath(folder) == source.path and fits:
            yield Place(source, os.path.join(source.path, *names), names)


def _indexed_as(store: HybridStore, path: str, places: Sequence[Place]) -> str | None:
    """Return the document of a file, by its path, by that from a source, or by another link."""
    real = os.path.realpath(path)
    for name in (path, *(place.path for place in places)):
        doc_id = store.storage.catalog.by_path(name, real)
        if doc_id:
            return doc_id
    for place in places:
        if place.source.follow_symlinks:
            doc_id = _reached_otherwise(store, place.source, real)
            if doc_id:
                return doc_id
    return None


def _reached_otherwise(store: HybridStore, source: Source, real: str) -> str | None:
    """Return the document of the same file by another link: a walk that follows links takes each
    file once.
    """
    documents = store.storage.documents.of_collection(str(source.collection))
    for document in documents.values():
        if document.path and os.path.realpath(document.path) == real:
            return document.doc_id
    return None


def _file(store: HybridStore, path: str, places: Sequence[Place]) -> dict[str, Any]:
    """Return the answer for a file that is not in: of the source that would take it in, else of the
    first that leaves it out.
    """
    first_answer = None
    for place in places:
        left_out = _left_out(place.source, place.names)
        if left_out is None:
            if os.path.isdir(place.path):
                raise QueryError(f"{path} is a folder that no rule leaves out; name a file in it")
            return _file_of(store, path, place, None)
        first_answer = first_answer or _file_of(store, path, place, left_out)
    if first_answer:
        return first_answer
    if os.path.isdir(path):
        command = f"`hybrid-memory ingest --path {quote(path)}`"
        raise QueryError(f"{path} is a folder that was not ingested; {command} takes it in")
    way_out = f"`hybrid-memory ingest --path {quote(os.path.realpath(path))}` takes it in"
    reason = "it is not below any folder that was ingested"
    return _not_in(path, None, Verdict("not ingested", reason, way_out))


def _file_of(
    store: HybridStore, path: str, place: Place, left_out: Missing | None
) -> dict[str, Any]:
    doc_id = place.source.doc_id("/".join(place.names) or os.path.basename(place.path))
    if left_out is None:
        refusals = store.storage.sources.refusals()
        left_out = of_file(store, place.source, place.path, doc_id, refusals)
    reason = left_out.reason
    way_out = _way_out(store, left_out, doc_id)
    if left_out.rule == PATTERN:
        refused = refusal(place.path, store.config["max_file_bytes"], True)
        if refused:
            reason += f", and it would be refused: {refused[1]}"
            way_out = None
    return _not_in(path, doc_id, Verdict(left_out.rule, reason, way_out))


def _left_out(source: Source, names: Sequence[str]) -> Missing | None:
    """Return the first folder on the way to the file, or the file itself, that a rule leaves out."""
    wanted = source.walk().wanted
    path = source.path
    for name in names:
        path = os.path.join(path, name)
        rule = wanted.refusal(name, path, os.path.isdir(path))
        if rule == EXCLUDED:
            others = _other_excludes(source, path)
            globs = ", ".join(glob for glob in source.exclude if glob not in others)
            return Missing(path, source, rule, f"--exclude {globs} leaves it out")
        if rule:
            subject = "" if name == names[-1] else f"{path}: "
            return Missing(path, source, rule, subject + REASONS[rule])
        if os.path.islink(path) and not source.follow_symlinks:
            reason = f"{path} is a symbolic link, and symbolic links are not followed"
            return Missing(path, source, LINK, reason)
    if os.path.isdir(path):
        return None
    if not os.path.isfile(path):
        return Missing(path, source, SPECIAL, REASONS[SPECIAL])
    with suppress(OSError, BadFileError):  # then it is refused, see `of_file`
        rule = wanted.refusal_of_session(path)
        if rule:
            return Missing(path, source, rule, REASONS[rule])
    return None


def _other_excludes(source: Source, path: str) -> tuple[str, ...]:
    """Return the source's globs that do not leave out this path."""
    name = os.path.basename(path)
    return tuple(
        glob
        for glob in source.exclude
        if not Wanted(source.path, ["*"], [glob]).refusal(name, path, False)
    )


def _way_out(store: HybridStore, file: Missing, doc_id: str) -> str | None:
    path, source, rule, _ = file
    again = f"`{source.command()}` takes it in"
    if rule in (HIDDEN, TEMPLATES, *SKIPPED_FOLDERS):
        name = default_collection(path, False, source.patterns)
        return f"`{source._replace(path=path, collection=name).command()}` takes in the folder"
    if rule == PATTERN:
        ending = os.path.splitext(path)[1]
        pattern = f"*{escape(ending)}" if ending else escape(os.path.basename(path))
        return f"`{source._replace(patterns=(*source.patterns, pattern)).command()}` takes it in"
    if rule == EXCLUDED:
        return f"`{source._replace(exclude=_other_excludes(source, path)).command()}` takes it in"
    if rule == LINK:
        return f"`{source._replace(follow_symlinks=True).command()}` follows links"
    if rule in (OTHER_WORKSPACE, UNKNOWN_WORKSPACE):
        return f"`hybrid-memory ingest --path {quote(path)}` takes it in"
    if rule == SPECIAL:
        return None
    if rule == TAKEN:
        owner = store.storage.documents.get(doc_id)
        if owner and owner.path:
            command = f"hybrid-memory ingest --path {quote(path)} --collection NAME"
            return f"`{command}` gives it another id"
        return f"`hybrid-memory delete --doc-id {quote(doc_id)}` makes room; then {again}"
    if rule == "size":
        setting = f"HYBRID_MEMORY_MAX_FILE_BYTES={os.path.getsize(path)}"
        return f"`{setting} {source.command()}` takes it in"
    return FIRST_STEPS.get(rule, "") + again


def _not_in(path: str, doc_id: str | None, verdict: Verdict) -> dict[str, Any]:
    return {
        "path": path,
        "doc_id": doc_id,
        "in_memory": False,
        "current": False,
        **verdict._asdict(),
        **dict.fromkeys(KEYS),
    }


def _document(store: HybridStore, doc_id: str) -> dict[str, Any]:
    """Return the answer for a document that is in."""
    document = store.storage.documents.get(doc_id)
    row = store.storage.catalog.entry(doc_id)
    path = row["path"]
    source = _source_of(store, path, row["collection"]) if path else None
    outdated = None
    if document and path:
        outdated = _outdated(store, document, source or Source(path, row["collection"], True, ()))
    elif document and "host" not in row and document.chunking != chunking_of_texts(store):
        outdated = Verdict("settings", CUT_OTHERWISE, "`hybrid-memory update` cuts it again")
    answer = {
        "path": path,
        "doc_id": doc_id,
        "in_memory": True,
        "current": outdated is None,
        **(outdated or _remark(store, row, document))._asdict(),
        **{key: row.get(key) for key in KEYS},
        "source": source.path if source else None,
    }
    if "host" in row:
        answer["host"] = row["host"]
    return answer


def _source_of(store: HybridStore, path: str, collection: str | None) -> Source | None:
    for source in store.storage.sources.all():
        if source.collection == collection and is_in(path, source.path):
            return source
    return None


def _outdated(store: HybridStore, document: StoredDocument, source: Source) -> Verdict | None:
    """Return why a document is not what its file is now, or why that cannot be told. Reads the
    file, as its size and time may be the same with another text.
    """
    path = str(document.path)
    again = f"`{source.command()}`"
    try:
        status = os.stat(path)
        is_current = holds_what_was_indexed(document, status)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not os.path.isdir(source.path):
            again = f"`hybrid-memory delete --path {quote(source.path)}`"
        way_out = "kept, as --keep-missing asks" if source.keep_missing else f"{again} removes it"
        return Verdict("gone", f"its file: {error.strerror}", way_out)
    except (OSError, BadFileError) as error:
        problem = getattr(error, "strerror", None) or error
        reason = f"its file cannot be read, so that it may have changed: {problem}"
        return Verdict(UNREADABLE, reason, f"{FIRST_STEPS[UNREADABLE]}{again} reads it again")
    if not is_current:
        reason = "its file has changed since it was read"
        if (status.st_mtime, status.st_size) == (document.mtime, document.size):
            reason += ", with the same size and time"
            again = f"`{source.command(incremental=False)}`"
        return Verdict("changed", reason, f"{again} reads it again")
    if document.chunking != source.chunking(store.config):
        return Verdict("settings", CUT_OTHERWISE, f"{again} cuts it again")
    return None


def _remark(store: HybridStore, row: dict[str, Any], document: StoredDocument | None) -> Verdict:
    """Return what should be known of a document that is current."""
    if not row["chunks"]:
        return Verdict("empty", "it has no text, so no search finds it")
    if row["path"]:
        if document and os.path.getsize(row["path"]) > document.size:
            return Verdict(reason="its file has grown, too little to be read again yet")
        return _warning(store, row["path"])
    host = row.get("host")
    if host:
        reason = f"its file is on another host; whether that has changed, only {host} can tell"
        return Verdict(reason=reason)
    text = store.storage.catalog.document(row["doc_id"]).content or ""
    for reason in parse(text, {}).warnings:
        return Verdict("front matter", reason)
    return Verdict()


def _warning(store: HybridStore, path: str) -> Verdict:
    """Return what an ingest warns of when it reads this file."""
    for reason, rule in warnings_of(store, path):
        return Verdict(rule, reason)
    return Verdict()


def warnings_of(store: HybridStore, path: str) -> list[tuple[str, str]]:
    """Return what an ingest warns of when it reads this file, each with its kind."""
    max_bytes = store.config["max_file_bytes"]
    with (
        suppress(OSError, BadFileError),
        closing(format_of(path).open(path, max_bytes, True, {})) as reading,
    ):
        return reading.warnings
    return []


@retry_once
def rank(store: HybridStore, doc_id: str, query: str) -> dict[str, Any]:
    """Return the place of the document's best passage among the results of a hybrid search without
    filters.

    `rank` counts from 1 among the results that a search with the configured settings gives if only
    its limit is raised to DEPTH, or, where a setting leaves the document out, among those of a
    search without it. It is None beyond DEPTH, as `keyword_rank` and `vector_rank` are, its best in
    each leg. `is_shown` says whether the search itself gives it; `left_out_by` is the setting that
    leaves it out. `before` has the best of what outranks it. `has` and `lacks` are words of the
    query, folded, and mean the whole document.
    """
    usual = request_of({}, store.config)
    plan = store.plan(query, usual)
    answer = store.answer(query, usual._replace(limit=DEPTH, explain=True))
    place = _place(answer.results, doc_id)
    left_out_by = None
    if place is None:  # a setting may leave it out
        everything = usual._replace(
            limit=DEPTH, explain=True, min_score=0.0, min_confidence=0.0, per_doc=None
        )
        answer = store.answer(query, everything)
        place = _place(answer.results, doc_id)
        if place:
            left_out_by = _bar(usual, answer.results[place - 1])
    elif place > usual.limit:
        left_out_by = "limit"
    results = answer.results
    passages = [result for result in results if _is_of(result, doc_id)]
    best: Mapping[str, Any] = results[place - 1] if place else {}
    before = results[: place - 1] if place else results
    parsed = plan.query
    words = [" ".join(term.tokens) for term in parsed.affordable_words]
    words_of_document = _words_of(store, doc_id, parsed)
    return {
        "query": query,
        "rank": place,
        "of": len(results),
        "keyword_rank": _best_rank(passages, "keyword"),
        "vector_rank": _best_rank(passages, "vector"),
        "citation": best.get("citation"),
        "score": best.get("score"),
        "confidence": best.get("confidence"),
        "newer": best.get("newer"),
        "is_shown": place is not None and left_out_by is None,
        "left_out_by": left_out_by,
        "before": [_described(number, result) for number, result in enumerate(before[:BEFORE], 1)],
        "has": [word for word in words if word in words_of_document],
        "lacks": [word for word in words if word not in words_of_document],
        "plan": plan.to_json(),
        "operators": answer.operators,
        "warnings": answer.warnings,
    }


def _place(results: Sequence[Mapping[str, Any]], doc_id: str) -> int | None:
    for number, result in enumerate(results, 1):
        if _is_of(result, doc_id):
            return number
    return None


def _is_of(result: Mapping[str, Any], doc_id: str) -> bool:
    """Return whether it is a passage of the document, or of another one with the same text."""
    if result["doc_id"] == doc_id:
        return True
    return any(citation.startswith(f"{doc_id}#L") for citation in result["also"])


def _bar(usual: Request, best: Mapping[str, Any]) -> str:
    """Return the setting that the best passage of a document does not pass."""
    if best["score"] < usual.min_score:
        return "min_score"
    if best["confidence"] < usual.min_confidence:
        return "min_confidence"
    return "per_doc"  # its text is also in a document that has better passages


def _best_rank(results: Sequence[Mapping[str, Any]], leg: str) -> int | None:
    ranks = [result["explain"][leg]["rank"] for result in results]
    return min((rank for rank in ranks if rank), default=None)


def _described(number: int, result: Mapping[str, Any]) -> dict[str, Any]:
    explained = result["explain"]
    return {
        "rank": number,
        "citation": result["citation"],
        "score": result["score"],
        "keyword_rank": explained["keyword"]["rank"],
        "vector_rank": explained["vector"]["rank"],
        "has": explained["terms"],
    }


def _words_of(store: HybridStore, doc_id: str, query: Query) -> set[str]:
    """Return the words of the query that a passage of the document has."""
    with store.storage.snapshot():
        ids = store.storage.chunks.at(doc_id, 0, NO_END)
        coverages = store.storage.keyword().coverage(query, ids).values()
    return {word for coverage in coverages for word in coverage.terms}


def _show(answer: dict[str, Any], stream: TextIO) -> None:
    """Print what `why` answers as one line, and the rank in a search."""
    if answer["in_memory"]:
        state = "in and current" if answer["current"] else "in, but not current"
        parts = [f"{answer['doc_id']}: {state}: {', '.join(_facts(answer))}"]
    else:
        parts = [f"{answer['path']}: not in: {answer['rule']}"]
    parts += [part for part in (answer["reason"], answer["way_out"]) if part]
    print(harmless("; ".join(parts)), file=stream)
    if "search" in answer:
        _show_rank(answer["search"], stream)


def _facts(answer: dict[str, Any]) -> list[str]:
    facts = [plural(answer["chunks"], "passage")]
    if answer["pending"]:
        facts.append(f"{answer['pending']:,} pending")
    if answer["date"]:
        facts.append(f"dated {answer['date']}")
    origin = answer["source"] or answer["path"] or answer.get("host") or "`store`"
    return [*facts, f"read {answer['indexed_at']}", f"from {origin}"]


def _show_rank(rank: dict[str, Any], stream: TextIO) -> None:
    style = Style(stream)
    if rank["rank"]:
        place = f"rank {rank['rank']} of {rank['of']}"
        scores = f"score {points(rank['score'])}, {confidence_text(rank)}"
        passage = harmless(f": {rank['citation']}, {scores}")
    else:
        place = f"not among {rank['of']} results"
        passage = ""
    print(
        f"\n{style.bold}{place}{style.off}{passage}  {style.dim}{_ranks(rank)}{style.off}",
        file=stream,
    )
    if rank["newer"]:
        print(f"  revised by {harmless(rank['newer'])}", file=stream)
    if rank["left_out_by"]:
        print(
            f"  a search leaves it out, because of the setting {rank['left_out_by']}", file=stream
        )
    print(f"  plan: {harmless(_planned(rank['plan']))}", file=stream)
    written = spellings(rank["query"])
    for verb in ("has", "lacks"):
        words = harmless(", ".join(written.get(word.lower(), word) for word in rank[verb]))
        words = words or "no word of the query"
        print(f"  it {verb}: {words}", file=stream)
    for other in rank["before"]:
        words = harmless(", ".join(other["has"])) or "no word"
        passage = f"{harmless(other['citation'])}, score {points(other['score'])}"
        details = f"{style.dim}{_ranks(other)}; has {words}{style.off}"
        print(f"  before it, {other['rank']}: {passage}  {details}", file=stream)


def _planned(plan: dict[str, Any]) -> str:
    """Describe the plan of a search in a line; the words follow in lines of their own."""
    parts = [f"mode {plan['mode']}", f"{plan['limit']} results"]
    if plan["phrases"]:
        parts.append(f"phrases {', '.join(plan['phrases'])}")
    if plan["days"]:
        days = ", ".join(" to ".join(dict.fromkeys(days)) for days in plan["days"])
        parts.append(f"days {days}")
    if plan["filters"]:
        parts.append(f"filters {json.dumps(plan['filters'], ensure_ascii=False)}")
    return "; ".join(parts)


def _ranks(passage: dict[str, Any]) -> str:
    keyword = passage["keyword_rank"] or "-"
    return f"keyword rank {keyword}, vector rank {passage['vector_rank'] or '-'}"
