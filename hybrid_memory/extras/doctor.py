"""The command `doctor`: find problems of a store, and the commands that repair them. Changes
nothing.

To add a check, write a function and add a row to CHECKS.
"""

import os
import shlex
import stat
import time
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TextIO

from ..documents.files import PATTERN, BadFileError, time_limit
from ..documents.formats import format_of, own_suffix
from ..embedding.identity import differing, identity_of
from ..errors import ConnectionLostError, StoreError
from ..storage.source import Source, is_in
from ..store import HybridStore, retry_once
from ..surface.arguments import Parser, add_json, examples
from ..surface.opening import open_store
from ..surface.streams import advise_model, harmless, print_answer
from ..sync.plan import uncovered
from ..sync.texts import chunking_of_texts
from ..text.characters import plural
from ..text.dates import looks_dated
from .connected import is_connected
from .hosts import hosts
from .recall.runs import summary
from .recall.state import refusals
from .why.explain import (
    NEW,
    REASONS,
    Missing,
    holds_what_was_indexed,
    is_up_to_date,
    missing,
    warnings_of,
)

RESTORE = (
    "restore a copy, or make a new memory: `hybrid-memory copy OLD NEW` copies what can be read, "
    "and `ingest` reads the files again"
)
LINES_OF_HEAD = 20  # of a document, which may have a line with its date
REINDEX = "`hybrid-memory reindex` repairs it"
DAMAGED_ROWS = (
    "`hybrid-memory delete --doc-id ID`, then store or ingest it again; if that fails, " + RESTORE
)
# Rules for files that the next ingest will read; "late": there was too little time so far
PASSING = {NEW, "changing", "late"}
EXTRACT_SECONDS = 3.0  # for extracting text from all files that are not in the store, such as PDFs
STATES = {True: "ok     ", False: "PROBLEM", None: "skipped"}
MOST_NAMED = 3  # problems of one check that are named; the others are only counted

DocumentsOfSources = dict[Source, list[str]]  # ids of documents by the source to ingest again


class Outdated(NamedTuple):
    """The documents that differ, or may differ, from their files."""

    changed: DocumentsOfSources
    rewritten: DocumentsOfSources  # changed, but with the same size and time
    gone: DocumentsOfSources
    unreadable: DocumentsOfSources


class Finding(NamedTuple):
    """The result of a check, in one line. If it is not ok, the line ends with the way out.

    `ok` is None if nothing was checked.
    """

    check: str
    ok: bool | None
    text: str


class Diagnosis(NamedTuple):
    """The result of a check, before all checks together decide on the right way out.

    `is_damage`: more than an index is damaged.
    """

    check: str
    ok: bool | None
    text: str
    way_out: str = ""
    is_damage: bool = False

    def as_finding(self) -> Finding:
        text = self.text
        if self.way_out:
            text += f"; {self.way_out}"
        return Finding(self.check, self.ok, text)


def doctor_options(parser: Parser) -> None:
    parser.add_argument(
        "--thorough",
        action="store_true",
        help="also read the whole database, with its engine's own checks, and every file",
    )
    add_json(parser)
    examples(parser, "doctor", "doctor --thorough")


def run_doctor(args: Namespace) -> int:
    with open_store(args) as store:
        findings = examine(store, thorough=args.thorough)
        print_answer(
            args,
            [finding._asdict() for finding in findings],
            lambda stream: _show(findings, stream),
        )
        if any(finding.ok is False for finding in findings):
            return 1
        advise_model(args, store)
    return 0


def _show(findings: Sequence[Finding], stream: TextIO) -> None:
    for finding in findings:
        print(STATES[finding.ok], f"{finding.check}: {harmless(finding.text)}", file=stream)


def examine(store: HybridStore, *, thorough: bool = False) -> list[Finding]:
    """Run every check; with `thorough`, also the checks that read the whole database.

    Asks the embedding server and the reranker whether they are available, but sends them nothing
    from the store. Raises ConnectionLostError if the connection to the store's own server is lost.
    Since indexes are rebuilt from the rest of the database, that is checked before a rebuild is
    advised.
    """
    if thorough:
        checks = THOROUGH
    else:
        checks = CHECKS
    diagnoses: list[Diagnosis] = []
    for name, check in checks.items():
        try:
            diagnoses += _run(store, check)
        except ConnectionLostError:
            raise
        except StoreError as error:  # its message ends with a way out
            unread = _problem(name, f"cannot be read: {error}")
            diagnoses.append(unread._replace(is_damage=True))
    advises_reindex = any(diagnosis.way_out == REINDEX for diagnosis in diagnoses)
    if advises_reindex and _is_damaged(store, diagnoses):
        diagnoses = [
            diagnosis._replace(way_out=RESTORE) if diagnosis.way_out == REINDEX else diagnosis
            for diagnosis in diagnoses
        ]
    return [diagnosis.as_finding() for diagnosis in diagnoses]


def _ok(check: str, text: str, remark: str = "") -> Diagnosis:
    return Diagnosis(check, True, text, remark)


def _problem(check: str, text: str, way_out: str = "") -> Diagnosis:
    return Diagnosis(check, False, text, way_out)


@retry_once
def _run(store: HybridStore, check: "Check") -> list[Diagnosis]:
    return list(check(store))


def _is_damaged(store: HybridStore, diagnoses: Iterable[Diagnosis]) -> bool:
    """Whether more than an index is damaged. If no check has found out, read the whole
    database.
    """
    if any(diagnosis.is_damage for diagnosis in diagnoses):
        return True
    try:
        with store.storage.guarded():
            return bool(store.storage.checks.integrity())
    except StoreError:
        return True


def _engine(store: HybridStore) -> Iterator[Diagnosis]:
    name, way_out = store.storage.checks.engine()
    yield Diagnosis("engine", not way_out, name, way_out)


def _integrity_not_checked(store: HybridStore) -> Iterator[Diagnosis]:
    text = "not checked; `hybrid-memory doctor --thorough` reads the whole database"
    yield Diagnosis("integrity", None, text)


def _integrity(store: HybridStore) -> Iterator[Diagnosis]:
    checks = store.storage.checks
    integrity = _summary("integrity", checks.intact, checks.integrity(), RESTORE)
    yield integrity._replace(is_damage=not integrity.ok)
    ok, text = checks.keyword_index()
    yield Diagnosis("keyword index", ok, text, REINDEX if ok is False else "")


def _tables(store: HybridStore, *, thorough: bool = False) -> Iterator[Diagnosis]:
    checks = store.storage.checks
    with store.storage.snapshot():
        missing_count, surplus = checks.keyword_index_differences()
        problems = []
        if missing_count:
            chunks = plural(missing_count, "chunk is", "chunks are")
            problems.append(f"{chunks} not in the keyword index")
        if surplus:
            rows = plural(
                surplus,
                "row of the keyword index has no chunk",
                "rows of the keyword index have no chunk",
            )
            problems.append(rows)
        yield _summary("indexed", "every chunk is in the keyword index", problems, REINDEX)

        problems = checks.rows()
        yield _summary("documents", "notes and chunks agree", problems, DAMAGED_ROWS)

        ok = "it has a place for every embedding"
        if thorough:
            ok = "it agrees with the embeddings"
        yield _summary("vector index", ok, checks.vectors(thorough=thorough), REINDEX)


def _embedder(store: HybridStore) -> Iterator[Diagnosis]:
    embedder = store.embedder
    if embedder is None:
        text = 'the provider is "none": searches use keywords only'
        yield _ok("embedder", text)
        return
    difference = differing(store.storage.embeddings.identity(), embedder)
    if difference:
        text = f"the store's embeddings were made with {difference}"
        yield _problem("embedder", text, "`hybrid-memory update` makes new ones")
        return
    identity = identity_of(embedder)
    name = f"{identity['provider']} {identity['model']}"
    if embedder.is_available():
        yield _ok("embedder", f"{name} answers")
    else:
        problem = embedder.problem or "it does not answer"
        yield _problem("embedder", f"{name}: {problem}")


def _reranker(store: HybridStore) -> Iterator[Diagnosis]:
    reranker = store.reranker
    if reranker is None:
        return
    if reranker.is_available():
        yield _ok("reranker", f"{reranker.name} answers")
    else:
        text = f"{reranker.problem}; searches are not reranked"
        yield _problem("reranker", text)


def _embeddings(store: HybridStore) -> Iterator[Diagnosis]:
    counts = store.stats()
    embedded = f"{counts['embedded_count']:,} of {counts['chunk_count']:,} chunks have an embedding"
    if counts["pending_count"] and store.embedder:
        way_out = "`hybrid-memory update` embeds the others"
        yield _problem("embeddings", embedded, way_out)
    else:
        yield _ok("embeddings", embedded)

    building = counts["building"]
    if building:
        progress = f"{building['done']} of {building['of']} chunks, and will then be used"
        text = f"{building['model']} has embedded {progress}"
        yield _problem("change of model", text, "`hybrid-memory update` continues")

    unknown = counts["unembeddable_count"]
    if unknown:
        chunks = plural(unknown, "chunk is", "chunks are")
        text = f"{chunks} in a language that the model does not support"
        yield _ok("language", text, "searches find them by keyword")

    truncated = counts["truncated_count"]
    if truncated:
        text = f"{plural(truncated, 'chunk was', 'chunks were')} cut to fit the model"
        way_out = "an ingest with a smaller --chunk-size embeds the whole text"
        yield _ok("truncated", text, way_out)


def _sources(store: HybridStore, *, thorough: bool = False) -> Iterator[Diagnosis]:
    """Compare the files of the ingested folders with the store: their sizes and times, and with
    `thorough` their contents.
    """
    outdated = _outdated(store, thorough=thorough)
    yield from _outdated_sources(outdated)
    left_out: list[Missing] = []
    new: dict[Source, list[str]] = defaultdict(list)
    with time_limit(EXTRACT_SECONDS):
        files = missing(store)
    for file in files:
        if file.rule in PASSING:
            new[file.source].append(os.path.basename(file.path))
        else:
            left_out.append(file)
    for source, names in new.items():
        files_of = plural(
            len(names),
            f"file of {source.path} is not in the memory yet",
            f"files of {source.path} are not in the memory yet",
        )
        text = f"{files_of}: {_first_names(names)}"
        yield _problem("sources", text, f"`{source.command()}` ingests new files")
    if not (new or any(outdated)):
        what = "" if thorough else "its size or time "
        unchanged = f"none has changed {what}since it was read"
        text = f"every file that the rules select is in the memory, and {unchanged}"
        yield _ok("sources", text)
    if others := uncovered(store.storage.sources.all()):
        text = f"no source covers {_first_names(others)}, in a workspace with ingested notes"
        yield _ok("sources", text, "`hybrid-memory ingest --path PATH` adds each")
    texts = store.storage.documents.texts_cut_otherwise(chunking_of_texts(store))
    if texts:
        text = plural(len(texts), "stored text was", "stored texts were")
        yield _problem(
            "texts", f"{text} cut with other settings", "`hybrid-memory update` cuts them again"
        )
    if left_out:
        yield _left_out(left_out)
    yield from _formats(left_out)


def _outdated_sources(outdated: Outdated) -> Iterator[Diagnosis]:
    for source, ids in outdated.changed.items():
        text = _notes_of(source, ids, "is out of date", "are out of date")
        yield _problem("sources", text, f"`{source.command()}` reads changed files")
    for source, ids in outdated.rewritten.items():
        text = _notes_of(source, ids, "has changed", "have changed")
        way_out = f"`{source.command(incremental=False)}` reads every file"
        yield _problem("sources", f"{text}, with the same size and time", way_out)
    for source, ids in outdated.unreadable.items():
        yield _problem("sources", _notes_of(source, ids, "cannot be read", "cannot be read"))
    for source, ids in outdated.gone.items():
        text = _notes_of(source, ids, "no longer has a file", "no longer have a file")
        if source.outlives_files:
            yield _ok("sources", f"{text}; what was in a deleted transcript is kept")
            continue
        if source.keep_missing:
            yield _ok("sources", f"{text}; kept because of --keep-missing")
            continue
        command = source.command()
        if not os.path.isdir(source.path):
            command = f"hybrid-memory delete --path {shlex.quote(source.path)}"
        yield _problem("sources", text, f"`{command}` removes notes without a file")


def _notes_of(source: Source, ids: Sequence[str], one: str, several: str) -> str:
    return plural(len(ids), f"note of {source.path} {one}", f"notes of {source.path} {several}")


def _outdated(store: HybridStore, *, thorough: bool) -> Outdated:
    """Compare all files with the indexed versions: sizes and times, and with `thorough` the
    contents.
    """
    found = Outdated(defaultdict(list), defaultdict(list), defaultdict(list), defaultdict(list))
    sources = {(source.collection, source.path): source for source in store.storage.sources.all()}
    files = store.storage.catalog.source_files()
    documents = {}
    if thorough:
        documents = store.storage.documents.several([file.doc_id for file in files])
    for file in files:
        top = file.path
        if file.folder and is_in(file.path, file.folder):
            top = file.folder
        source = sources.get((file.collection, top)) or Source(file.path, file.collection, True, ())
        document = documents.get(file.doc_id)
        try:
            status = os.stat(file.path)
            is_cut_alike = file.chunking == source.chunking(store.config)
            if not is_cut_alike or not is_up_to_date(file.path, file.mtime, file.size, status):
                found.changed[source].append(file.doc_id)
            elif document and not holds_what_was_indexed(document, status):
                found.rewritten[source].append(file.doc_id)
        except (FileNotFoundError, NotADirectoryError):
            found.gone[source].append(file.doc_id)
        except (OSError, BadFileError):
            found.unreadable[source].append(file.doc_id)
    return found


def _dates(store: HybridStore) -> Iterator[Diagnosis]:
    """Count the undated documents with a date in their name or head that can be read in two ways."""
    _, documents = store.storage.catalog.listing(None, store.stats()["doc_count"] or 1)
    undated = [document["doc_id"] for document in documents if document["date"] is None]
    names = [doc_id for doc_id in undated if looks_dated(doc_id, _head(store, doc_id))]
    if names:
        look = plural(len(undated), "note without a date", "notes without a date")
        verb = "looks" if len(names) == 1 else "look"
        text = f"{len(names)} of {look} {verb} dated: {_first_names(names)}"
        yield _ok("dates", text, "write the date as 2026-01-05")


def _head(store: HybridStore, doc_id: str) -> str:
    first = store.storage.chunks.at(doc_id, 1, LINES_OF_HEAD)
    return "\n".join(row.text for row in store.storage.chunks.rows(first).values())


def _left_out(files: Iterable[Missing]) -> Diagnosis:
    """Group by rule. Files excluded by the user's rules are fine; refused files are a problem."""
    names_by_rule: dict[str, list[str]] = defaultdict(list)
    for file in files:
        names_by_rule[file.rule].append(os.path.basename(file.path))
    rules = [
        f"{len(names)} {rule} ({_first_names(names)})" for rule, names in names_by_rule.items()
    ]
    way_out = "`hybrid-memory why NOTE` prints the way out for each"
    return Diagnosis("left out", names_by_rule.keys() <= REASONS.keys(), ", ".join(rules), way_out)


def _formats(left_out: Iterable[Missing]) -> Iterator[Diagnosis]:
    """Name files in readable formats that no pattern matches."""
    suffixes_of: dict[Source, Counter[str]] = defaultdict(Counter)
    for file in left_out:
        if file.rule != PATTERN:
            continue
        suffix = own_suffix(file.path)
        if suffix:
            suffixes_of[file.source][file.path[-len(suffix) :]] += 1
    for source, suffixes in suffixes_of.items():
        counts = ", ".join(f"{count} {suffix}" for suffix, count in sorted(suffixes.items()))
        patterns = [f"*{suffix}" for suffix in sorted(suffixes)]
        wider = source._replace(patterns=(*source.patterns, *patterns))
        text = f"no pattern of {source.path} matches {counts}"
        yield _ok("formats", text, f"`{wider.command()}` matches them")


def _only_here(store: HybridStore) -> Iterator[Diagnosis]:
    """Count the documents that exist only in the database: texts without a file, and notes that
    were kept although their file is gone.
    """
    catalog = store.storage.catalog
    ids = [doc_id for doc_id, _, is_file in catalog.names() if not is_file]
    ids += [file.doc_id for file in catalog.source_files() if not os.path.exists(file.path)]
    if not ids:
        yield _ok("only here", "every document has a file")
        return
    documents = plural(len(ids), "document has", "documents have")
    way_out = "only a copy of the database preserves them"
    yield _ok("only here", f"{documents} no file: {_first_names(sorted(ids))}", way_out)


def _front_matter(store: HybridStore) -> Iterator[Diagnosis]:
    """Name the unreadable lines in the front matter of files."""
    found = []
    for file in store.storage.catalog.source_files():
        reader = format_of(file.path)
        if reader.is_text and not reader.grows:
            warnings = warnings_of(store, file.path)
            found += [f"{file.path}: {text}" for text, kind in warnings if kind == "front matter"]
    if found:
        yield _summary("front matter", "", found, "")._replace(ok=True)


def _permissions(store: HybridStore) -> Iterator[Diagnosis]:
    """Check who can access the database, if it is a file on a system with file modes."""
    if os.name != "posix" or not os.path.isfile(store.path):
        return
    problems = []
    for file in (store.path, store.path + "-wal", store.path + "-shm"):
        try:
            mode = stat.S_IMODE(os.stat(file).st_mode)
        except OSError:
            continue
        if mode & 0o077:
            problems.append(f"other users can access {file} (mode {mode:o})")
    way_out = f"`chmod 600 {shlex.quote(store.path)}*`"
    yield _summary("permissions", "only the owner can access the database", problems, way_out)


def _hosts(store: HybridStore) -> Iterator[Diagnosis]:
    """Report when the hook of each agent last ran, and connected agents whose hook never did."""
    for host in hosts().values():
        runs = summary(host.name)
        if runs["last"] is not None:
            yield _ok("hooks", f"{host.title}: {runs['text']}")
        elif host.files and host.events and is_connected(host):
            yield _ok("hooks", f"{host.title}: connected, but {runs['text']}", host.trust)


def _hooks(store: HybridStore) -> Iterator[Diagnosis]:
    """Name the refused files that hooks tried to ingest as transcripts."""
    refused = refusals(store.path)[::-1]
    if refused:
        files = [
            f"{each.named} ({time.strftime('%Y-%m-%d %H:%M', time.localtime(each.time))}: {each.reason})"
            for each in refused[:MOST_NAMED]
        ]
        if len(refused) > MOST_NAMED:
            files.append(f"{len(refused) - MOST_NAMED} more")
        count = plural(len(refused), "file")
        text = (
            f"refused {count} that hooks named as transcripts in the last week: {', '.join(files)}"
        )
        yield _ok(
            "refused", text, "`hybrid-memory ingest --path FILE` ingests a file that you trust"
        )


def _summary(check: str, ok: str, problems: list[str], way_out: str) -> Diagnosis:
    """Report the first problems and the number of the others; without problems, the sentence `ok`."""
    if not problems:
        return _ok(check, ok)
    text = ", ".join(problems[:MOST_NAMED])
    if len(problems) > MOST_NAMED:
        text += f", and {len(problems) - MOST_NAMED} more"
    return _problem(check, text, way_out)


def _first_names(names: list[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        shown += ", …"
    return shown


Check = Callable[[HybridStore], Iterable[Diagnosis]]
CHECKS: dict[str, Check] = {
    "engine": _engine,
    "integrity": _integrity_not_checked,
    "tables": _tables,
    "embedder": _embedder,
    "reranker": _reranker,
    "embeddings": _embeddings,
    "sources": _sources,
    "only here": _only_here,
    "front matter": _front_matter,
    "dates": _dates,
    "permissions": _permissions,
    "hooks": _hosts,
    "refused transcripts": _hooks,
}
THOROUGH: dict[str, Check] = {
    **CHECKS,
    "integrity": _integrity,
    "tables": partial(_tables, thorough=True),
    "sources": partial(_sources, thorough=True),
}
