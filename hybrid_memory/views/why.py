"""Whether a note is in the store and current; if not, the rule that keeps it out, and the way out.
Changes nothing.

MERGED The files of the ingested folders that are not in the store, each with the rule that keeps it
out. Reads no file that is in.

MERGED Where a search has a document, in each leg and in all, what stands before it, and which words
of the query it lacks.
"""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from glob import escape
from shlex import quote
from typing import Any, NamedTuple

from ..documents.files import (
    EXCLUDED,
    HIDDEN,
    LINK,
    PATTERN,
    SKIPPED_FOLDERS,
    SPECIAL,
    BadFileError,
    Walk,
    Wanted,
)
from ..documents.formats import format_of, refusal
from ..errors import QueryError
from ..search.hit import Request
from ..storage.source import (
    Refusal,
    Source,
    StoredDocument,
    default_collection,
    is_in,
    refusal_limits,
)
from ..storage.target import find
from ..store import HybridStore, tried_again
from ..text.query import Query

NEW = "new"  # nothing keeps it out: it was not there, or could not be read, at the last ingest
TAKEN = "id taken"
UNREADABLE = "unreadable"

REASONS = {
    "hidden": "folders whose name begins with a dot are left out",
    "node_modules": "folders of this name are left out",
    "pattern": "no pattern of the folder matches its name",
    "excluded": "--exclude leaves it out",
    LINK: "symbolic links are not followed",
    SPECIAL: "only regular files are read",
    NEW: "it has not been read yet",
}


class Missing(NamedTuple):
    """A file, or a folder with all that is in it, that is not in the store."""

    path: str
    source: Source
    rule: str
    reason: str


def missing(store: HybridStore) -> list[Missing]:
    """Everything below the ingested folders that is not in. A folder that is left out stands for
    what is in it.
    """
    known = {file.path for file in store.storage.catalog.source_files()}
    files: dict[str, Missing] = {}
    left_out: dict[str, Missing] = {}
    for source in store.storage.sources.all():
        walk = Walk(source.path, source.patterns, source.exclude, source.follow_symlinks)
        for file in walk.file(source.path) if source.is_file else walk:
            relative = os.path.basename(file.path) if source.is_file else file.relative
            if file.path not in known:
                files[file.path] = of_file(store, source, file.path, source.doc_id(relative))
        left_out |= {
            path: Missing(path, source, rule, REASONS[rule])
            for path, rule in walk.left_out.items()
            if path not in known
        }
        files |= {path: Missing(path, source, UNREADABLE, reason) for path, reason in walk.unread}
    return [*files.values(), *(found for path, found in left_out.items() if path not in files)]


def of_file(store: HybridStore, source: Source, path: str, doc_id: str) -> Missing:
    """Why a file that no rule of its folder leaves out is not in. Reads the file."""
    owner = store.storage.documents.get(doc_id)
    if owner and owner.path != path:
        return Missing(
            path,
            source,
            TAKEN,
            f"its id {doc_id!r} is that of {owner.path or 'a text that was put in by `store`'}",
        )
    if known := _refused_before(store, path):
        return Missing(path, source, known.kind, known.reason)
    refused = refusal(path, store.config["max_file_bytes"], source.follow_symlinks)
    kind, reason = refused or (NEW, REASONS[NEW])
    return Missing(path, source, kind, reason)


def _refused_before(store: HybridStore, path: str) -> Refusal | None:
    """Return why the file was refused at the last ingest, if it would be refused again."""
    known = store.storage.sources.refusals().get(path)
    try:
        status = os.stat(path)
    except OSError:
        return None
    limits = refusal_limits(store.config)
    if known and known.holds(status.st_mtime, status.st_size, limits, known.seconds):
        return known
    return None


def is_up_to_date(path: str, mtime: float, size: int, status: os.stat_result) -> bool:
    """Whether a file is as it was when it was indexed, or has too little new text to be read again.
    Raises OSError.
    """
    if (status.st_mtime, status.st_size) == (mtime, size):
        return True
    return not format_of(path).is_due(
        path, size, status.st_mtime, status.st_size, follow_symlinks=True
    )


DEPTH = 1000  # results that are looked through
BEFORE = 3  # results before it that are named


@tried_again
def rank(store: HybridStore, doc_id: str, query: str) -> dict[str, Any]:
    """The place of the document's best passage among the results of a hybrid search without
    filters.

    `rank` counts from 1 and is None beyond DEPTH, as `keyword_rank` and `vector_rank` are, its best
    in each leg. `is_shown` says whether a search gives it under the settings; `left_out_by` is the
    setting that leaves it out. `before` has the best of what outranks it. `has` and `lacks` are
    words of the query, folded, and mean the whole document.
    """
    limit = store.config["limit"]
    answer = store.answer(query, Request(DEPTH, explain=True))
    places = [
        (place, result) for place, result in enumerate(answer.results, 1) if _is_of(result, doc_id)
    ]
    place, best = places[0] if places else (None, {})
    legs = [_best_rank([result for _, result in places], leg) for leg in ("keyword", "vector")]
    before = answer.results[: (place or len(answer.results) + 1) - 1]
    has = _words_of(store, doc_id, query)
    settings = {key: store.config[key] for key in ("min_score", "min_confidence")}
    left_out_by = next(
        (key for key, least in settings.items() if best and best[key.removeprefix("min_")] < least),
        None,
    )
    if place and place > limit:
        left_out_by = left_out_by or "limit"
    return {
        "query": query,
        "rank": place,
        "of": len(answer.results),
        "keyword_rank": legs[0],
        "vector_rank": legs[1],
        **{key: best.get(key) for key in ("citation", "score", "confidence")},
        "is_shown": bool(place) and left_out_by is None,
        "left_out_by": left_out_by,
        "before": [_described(number, result) for number, result in enumerate(before[:BEFORE], 1)],
        "has": [word for word in _words(query) if word in has],
        "lacks": [word for word in _words(query) if word not in has],
        "warnings": answer.warnings,
    }


def _is_of(result: dict[str, Any], doc_id: str) -> bool:
    """Whether it is a passage of the document, or one of another document with the same text."""
    return result["doc_id"] == doc_id or any(
        other.startswith(f"{doc_id}#L") for other in result["also"]
    )


def _best_rank(results: list[dict[str, Any]], leg: str) -> int | None:
    return min(
        (result["explain"][leg]["rank"] for result in results if result["explain"][leg]["rank"]),
        default=None,
    )


def _described(number: int, result: dict[str, Any]) -> dict[str, Any]:
    legs = {f"{leg}_rank": result["explain"][leg]["rank"] for leg in ("keyword", "vector")}
    return {
        "rank": number,
        **{key: result[key] for key in ("citation", "score")},
        **legs,
        "has": result["explain"]["terms"],
    }


def _words(query: str) -> list[str]:
    return [" ".join(term.tokens) for term in Query(query).affordable_words]


def _words_of(store: HybridStore, doc_id: str, query: str) -> set[str]:
    """The words of the query that a passage of the document has."""
    with store.storage.snapshot():
        ids = store.storage.chunks.at(doc_id, 0, DEPTH * DEPTH * DEPTH)
        covered = store.storage.keyword().coverage(Query(query), ids).values()
    return {word for coverage in covered for word in coverage.terms}


KEYS = (
    "source",
    "chunks",
    "pending",
    "date",
    "indexed_at",
)  # of a document that is in; None of one that is not


@tried_again
def explain(store: HybridStore, note: str) -> dict[str, Any]:
    """What keeps a note out, or what the store has of it. A note is the path of a file, or a
    document as `get` takes it.

    In the answer, `in_memory` and `current` are what the exit status tells. `rule` is a word for
    what keeps it out, makes it out of date or should be known of it, `reason` says so in a
    sentence, and `way_out` what to do; they may be None. Raises QueryError if there is neither such
    a file nor such a document, and for a folder that no rule leaves out.
    """
    with store.storage.snapshot():
        path = _existing(note)
        if path is None:
            return _document(store, find(store.storage, note)[0])
        places = [
            (source, os.path.join(source.path, *parts), parts)
            for source, parts in _sources_above(store, path)
        ]
        real = os.path.realpath(path)
        for place in (path, *(place for _, place, _ in places)):
            if doc_id := store.storage.catalog.by_path(place, real):
                return _document(store, doc_id)
        for source, _, _ in places:
            if source.follow_symlinks and (doc_id := _reached_otherwise(store, source, real)):
                return _document(store, doc_id)
        return _file(store, path, places)


def _existing(note: str) -> str | None:
    """The absolute path, if something is there."""
    with suppress(
        ValueError, OSError
    ):  # no file has such a name; the working directory no longer exists
        path = os.path.abspath(os.path.expanduser(note))
        return path if os.path.lexists(path) else None
    return None


def _sources_above(store: HybridStore, path: str) -> Iterator[tuple[Source, list[str]]]:
    """The sources that the path is in, the innermost first, each with the names that lead from it
    to the path.
    """
    for source in sorted(store.storage.sources.all(), key=lambda source: -len(source.path)):
        at, parts = path, list[str]()
        while os.path.realpath(at) != source.path and at != os.path.dirname(at):
            at, parts = os.path.dirname(at), [os.path.basename(at), *parts]
        if os.path.realpath(at) == source.path and source.is_file == (not parts):
            yield source, parts


def _reached_otherwise(store: HybridStore, source: Source, real: str) -> str | None:
    """The document of the same file by another link; a walk that follows links takes each place
    once.
    """
    known = store.storage.documents.of_collection(str(source.collection)).values()
    return next(
        (
            document.doc_id
            for document in known
            if document.path and os.path.realpath(document.path) == real
        ),
        None,
    )


def _file(
    store: HybridStore, path: str, places: list[tuple[Source, str, list[str]]]
) -> dict[str, Any]:
    """The answer for a file that is not in: what the source says that would take it in, else what
    the innermost says.
    """
    found = None
    for source, place, parts in places:
        refused = _refused(source, parts)
        if refused is None and os.path.isdir(place):
            raise QueryError(f"{path} is a folder that no rule leaves out; name a file in it")
        doc_id = source.doc_id("/".join(parts) or os.path.basename(place))
        of_place = refused or of_file(store, source, place, doc_id)
        if refused is None or found is None:
            found = _missing(
                path, doc_id, of_place.rule, of_place.reason, _way_out(store, of_place, doc_id)
            )
            if of_place.rule == PATTERN and (
                unread := refusal(place, store.config["max_file_bytes"], True)
            ):
                found |= {
                    "reason": f"{of_place.reason}, and it would be refused: {unread[1]}",
                    "way_out": None,
                }
        if refused is None:
            break
    if found:
        return found
    if os.path.isdir(path):
        raise QueryError(
            f"{path} is a folder that was not ingested; `hybrid-memory ingest --path {quote(path)}` takes it in"
        )
    way_out = f"`hybrid-memory ingest --path {quote(os.path.realpath(path))}` takes it in"
    return _missing(
        path, None, "not ingested", "it is not below any folder that was ingested", way_out
    )


def _refused(source: Source, parts: list[str]) -> Missing | None:
    """The first folder on the way to the file, or the file itself, that a rule leaves out."""
    wanted, at = Wanted(source.path, source.patterns, source.exclude), source.path
    for name in parts:
        at = os.path.join(at, name)
        if rule := wanted.refusal(name, at, os.path.isdir(at)):
            subject = "" if name == parts[-1] else f"{at}: "
            globs = ", ".join(
                glob for glob in source.exclude if glob not in _other_excludes(source, at)
            )
            return Missing(
                at,
                source,
                rule,
                f"--exclude {globs} leaves it out" if rule == EXCLUDED else subject + REASONS[rule],
            )
        if os.path.islink(at) and not source.follow_symlinks:
            return Missing(
                at, source, LINK, f"{at} is a symbolic link, and symbolic links are not followed"
            )
    return (
        None
        if os.path.isfile(at) or os.path.isdir(at)
        else Missing(at, source, SPECIAL, REASONS[SPECIAL])
    )


def _other_excludes(source: Source, path: str) -> tuple[str, ...]:
    """The source's globs that do not leave out this path."""
    name = os.path.basename(path)
    return tuple(
        glob
        for glob in source.exclude
        if not Wanted(source.path, ["*"], [glob]).refusal(name, path, False)
    )


def _way_out(store: HybridStore, found: Missing, doc_id: str) -> str | None:
    path, source, rule, _ = found
    again = f"`{source.command()}` takes it in"
    if rule == HIDDEN or rule in SKIPPED_FOLDERS:
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
    if rule == TAKEN:
        owner = store.storage.documents.get(doc_id)
        if owner and owner.path:
            return (
                f"`hybrid-memory ingest --path {quote(path)} --collection NAME` gives it another id"
            )
        return f"`hybrid-memory delete --doc-id {quote(doc_id)}` makes room; then {again}"
    if rule == "size":
        return (
            f"`HYBRID_MEMORY_MAX_FILE_BYTES={os.path.getsize(path)} {source.command()}` takes it in"
        )
    first = {
        "encoding": "saved as text in UTF-8, ",
        "unreadable": "once you may read it, ",
        "package": "then ",
    }
    return None if rule == SPECIAL else first.get(rule, "") + again


def _document(store: HybridStore, doc_id: str) -> dict[str, Any]:
    """The answer for a document that is in."""
    known, row = store.storage.documents.get(doc_id), store.storage.catalog.entry(doc_id)
    path = row["path"]
    source = next(
        (
            s
            for s in store.storage.sources.all()
            if path and s.collection == row["collection"] and is_in(path, s.path)
        ),
        None,
    )
    rule, reason, way_out = None, None, None
    if known and path:
        rule, reason, way_out = _stale(
            store, known, source or Source(path, row["collection"], True, ())
        )
    is_current = rule is None
    if is_current and not row["chunks"]:
        rule, reason = "empty", "it has no text, so no search finds it"
    elif is_current and path:
        reason, rule = _warning(store, path)
    elif host := row.get("host"):
        reason = f"its file is on another host; whether that has changed, only {host} can tell"
    of_store = {"source": source and source.path, **{key: row[key] for key in KEYS[1:]}}
    told = {"rule": rule, "reason": reason, "way_out": way_out}
    of_host = {"host": row["host"]} if "host" in row else {}
    return {
        "path": path,
        "doc_id": doc_id,
        "in_memory": True,
        "current": is_current,
        **told,
        **of_store,
        **of_host,
    }


def _stale(
    store: HybridStore, known: StoredDocument, source: Source
) -> tuple[str, str, str] | tuple[None, None, None]:
    """Why a document is not what its file is now: rule, reason, way out."""
    path, again = str(known.path), f"`{source.command()}`"
    try:
        up_to_date = is_up_to_date(path, known.mtime, known.size, os.stat(path))
    except OSError as error:
        delete = f"`hybrid-memory delete --path {quote(source.path)}`"
        return (
            "gone",
            f"its file: {error.strerror}",
            f"{again if os.path.isdir(source.path) else delete} removes it",
        )
    if not up_to_date:
        return "changed", "its file has changed since it was read", f"{again} reads it again"
    if known.chunking != source.chunking(store.config):
        return "settings", "it was cut into chunks with other settings", f"{again} cuts it again"
    return None, None, None


def _warning(store: HybridStore, path: str) -> tuple[str, str] | tuple[None, None]:
    """What an ingest warns of when it reads this file: reason and rule."""
    with (
        suppress(OSError, BadFileError),
        closing(format_of(path).open(path, store.config["max_file_bytes"], True, {})) as reading,
    ):
        return next(iter(reading.warnings), (None, None))
    return None, None


def _missing(
    path: str, doc_id: str | None, rule: str, reason: str, way_out: str | None
) -> dict[str, Any]:
    """The answer for a file that is not in."""
    told = {"rule": rule, "reason": reason, "way_out": way_out}
    return {
        "path": path,
        "doc_id": doc_id,
        "in_memory": False,
        "current": False,
        **told,
        **dict.fromkeys(KEYS),
    }
