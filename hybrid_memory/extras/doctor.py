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
from functools import cached_property
from typing import NamedTuple, TextIO

from ..documents.files import time_limit
from ..documents.formats import format_of
from ..documents.suffixes import grows
from ..embedding.identity import differing, identity_of, name_of
from ..errors import ConnectionLostError, StoreError
from ..storage.source import Source
from ..store import HybridStore, retry_once
from ..surface.arguments import Parser, add_json, examples
from ..surface.opening import open_store
from ..surface.streams import print_answer, print_model_advice, single_line
from ..sync.plan import uncovered
from ..sync.texts import texts_to_cut
from ..text.characters import plural
from ..text.dates import looks_dated
from .connected import has_plugin, is_connected
from .hosts import hosts
from .recall.runs import summary
from .recall.state import begun, refusals
from .why.explain import NEW, REASONS, Missing, missing, warnings_of
from .why.states import STATES, source_of, state_of

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
MARKS = {True: "ok     ", False: "PROBLEM", None: "skipped"}
MOST_NAMED = 3  # files or problems in one line; the others are only counted


class Finding(NamedTuple):
    """The result of a check, in one line. If it is not ok, the line ends with the way out.

    `ok` is None if nothing was checked.
    """

    check: str
    ok: bool | None
    text: str


class Diagnosis(NamedTuple):
    """The result of a check, before all checks together decide on the right way out."""

    ok: bool | None
    text: str
    way_out: str = ""


class Look:
    """A store under examination; with `thorough`, the whole database and every file are read."""

    def __init__(self, store: HybridStore, *, thorough: bool) -> None:
        self.store = store
        self.thorough = thorough
        self.checks = store.storage.checks

    @cached_property
    def missing(self) -> list[Missing]:
        """The files of the ingested folders that are not in the store."""
        with time_limit(EXTRACT_SECONDS):
            return missing(self.store)


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
        print_model_advice(args, store)
    return 0


def _show(findings: Sequence[Finding], stream: TextIO) -> None:
    for finding in findings:
        print(MARKS[finding.ok], f"{finding.check}: {single_line(finding.text)}", file=stream)


def examine(store: HybridStore, *, thorough: bool = False) -> list[Finding]:
    """Run every check; with `thorough`, also read the whole database.

    Asks the embedding server and the reranker whether they are available, but sends them nothing
    from the store. Raises ConnectionLostError if the connection to the store's own server is lost.
    Since indexes are rebuilt from the rest of the database, that is checked before a rebuild is
    advised.
    """
    look = Look(store, thorough=thorough)
    found: list[tuple[str, Diagnosis]] = []
    for name, check in CHECKS.items():
        try:
            found += [(name, diagnosis) for diagnosis in _run(store, check, look)]
        except ConnectionLostError:
            raise
        except StoreError as error:  # its message ends with a way out
            found.append((name, Diagnosis(False, f"cannot be read: {error}")))
    repair = REINDEX
    if any(diagnosis.way_out == REINDEX for _, diagnosis in found) and _is_damaged(store):
        repair = RESTORE
    return [
        Finding(name, ok, "; ".join(filter(None, [text, way_out.replace(REINDEX, repair)])))
        for name, (ok, text, way_out) in found
    ]


@retry_once
def _run(store: HybridStore, check: "Check", look: Look) -> list[Diagnosis]:
    return list(check(look))


def _is_damaged(store: HybridStore) -> bool:
    """Whether more than an index is damaged. Reads the whole database."""
    try:
        with store.storage.guarded():
            return bool(store.storage.checks.integrity())
    except StoreError:
        return True


def _engine(look: Look) -> Iterator[Diagnosis]:
    name, way_out = look.checks.engine()
    yield Diagnosis(not way_out, name, way_out)


def _integrity(look: Look) -> Iterator[Diagnosis]:
    if look.thorough:
        yield from _problems(look.checks.integrity(), look.checks.intact, RESTORE)
    else:
        text = "not checked; `hybrid-memory doctor --thorough` reads the whole database"
        yield Diagnosis(None, text)


def _keyword_index(look: Look) -> Iterator[Diagnosis]:
    if look.thorough:
        ok, text = look.checks.keyword_index()
        yield Diagnosis(ok, text, REINDEX if ok is False else "")


def _index_differences(look: Look) -> list[str]:
    missing_count, surplus = look.checks.keyword_index_differences()
    problems = []
    if missing_count:
        chunks = plural(missing_count, "chunk is", "chunks are")
        problems.append(f"{chunks} not in the keyword index")
    if surplus:
        one = "row of the keyword index has no chunk"
        problems.append(plural(surplus, one, "rows of the keyword index have no chunk"))
    return problems


def _compared(problems_of: Callable[[Look], list[str]], ok: str, way_out: str) -> "Check":
    """A check that compares tables of the database in one state."""

    def check(look: Look) -> Iterator[Diagnosis]:
        with look.store.storage.snapshot():
            problems = problems_of(look)
        yield from _problems(problems, ok, way_out)

    return check


def _embedder(look: Look) -> Iterator[Diagnosis]:
    embedder = look.store.embedder
    if embedder is None:
        yield Diagnosis(True, 'the provider is "none": searches use keywords only')
        return
    name = name_of(identity_of(embedder))
    difference = differing(look.store.storage.embeddings.identity(), embedder)
    why_not_working = look.store.why_not_working(embedder)
    if why_not_working:
        yield Diagnosis(False, f"{name}: {why_not_working}")
    elif difference:
        text = f"the store's embeddings were made with {difference}"
        yield Diagnosis(False, text, "`hybrid-memory update` makes new ones")
    else:
        # "auto" explains why the built-in model is used
        yield Diagnosis(True, "; ".join(filter(None, [f"{name} answers", embedder.problem])))


def _reranker(look: Look) -> Iterator[Diagnosis]:
    reranker = look.store.reranker
    if reranker and reranker.is_available():
        yield Diagnosis(True, f"{reranker.name} answers")
    elif reranker:
        yield Diagnosis(False, f"{reranker.problem}; searches are not reranked")


def _embeddings(look: Look) -> Iterator[Diagnosis]:
    counts = look.store.stats()
    embedded = f"{counts['embedded_count']:,} of {counts['chunk_count']:,} chunks have an embedding"
    if counts["pending_count"] and look.store.embedder:
        yield Diagnosis(False, embedded, "`hybrid-memory update` embeds the others")
    else:
        yield Diagnosis(True, embedded)


def _change_of_model(look: Look) -> Iterator[Diagnosis]:
    building = look.store.stats()["building"]
    if building:
        progress = f"{building['done']} of {building['of']} chunks, and will then be used"
        text = f"{building['model']} has embedded {progress}"
        yield Diagnosis(False, text, "`hybrid-memory update` continues")


def _sources(look: Look) -> Iterator[Diagnosis]:
    """Compare the files of the ingested folders with the store: their sizes and times, and if the
    look is thorough their contents.
    """
    storage = look.store.storage
    sources = storage.sources.all()
    names: dict[tuple[str, str, str], list[str]] = defaultdict(list)

    def note(name: str, source: Source, path: str) -> None:
        way_out = STATES[name].way_out_for(source)
        names[name, source.path, way_out].append(os.path.basename(path))

    for file in storage.catalog.source_files():
        own = Source(file.path, file.collection, True, ())
        source = source_of(sources, file.path, file.collection) or own
        known = storage.documents.get(file.doc_id) if look.thorough else None
        state = state_of(known or file, source, look.store.config)
        if state:
            note(state, source, file.path)
    for new in look.missing:
        if new.rule in PASSING:
            note(NEW, new.source, new.path)
    for (name, path, way_out), files in names.items():
        _, one, several, _, ok = STATES[name]
        notes = plural(len(files), f"note of {path} {one}", f"notes of {path} {several}")
        yield Diagnosis(ok, f"{notes}: {_first(files)}", way_out)
    if not names:
        what = "" if look.thorough else "its size or time "
        unchanged = f"none has changed {what}since it was read"
        yield Diagnosis(True, f"every file that the rules select is in the memory, and {unchanged}")
    if others := uncovered(sources):
        text = f"not ingested yet: {_first(others)}"
        yield Diagnosis(True, text, "`hybrid-memory ingest --path PATH` adds each")


def _texts(look: Look) -> Iterator[Diagnosis]:
    for reason, count in Counter(texts_to_cut(look.store).values()).items():
        text = plural(count, "stored text was", "stored texts were")
        yield Diagnosis(False, f"{text} {reason}", "`hybrid-memory update` cuts them again")


def _left_out(look: Look) -> Iterator[Diagnosis]:
    """Group by rule. Files excluded by the user's rules are fine; refused files are a problem."""
    names: dict[str, list[str]] = defaultdict(list)
    for file in look.missing:
        if file.rule not in PASSING:
            names[file.rule].append(os.path.basename(file.path))
    if names:
        rules = ", ".join(f"{len(of)} {rule} ({_first(of)})" for rule, of in names.items())
        way_out = "`hybrid-memory why NOTE` prints the way out for each"
        yield Diagnosis(names.keys() <= REASONS.keys(), rules, way_out)


def _only_here(look: Look) -> Iterator[Diagnosis]:
    """Count the documents that exist only in the database: texts without a file, and notes that
    were kept although their file is gone.
    """
    catalog = look.store.storage.catalog
    ids = [doc_id for doc_id, _, is_file in catalog.names() if not is_file]
    ids += [file.doc_id for file in catalog.source_files() if not os.path.exists(file.path)]
    if ids:
        text = (
            f"{plural(len(ids), 'document has', 'documents have')} no file: {_first(sorted(ids))}"
        )
        yield Diagnosis(True, text, "only a copy of the database preserves them")
    else:
        yield Diagnosis(True, "every document has a file")


def _front_matter(look: Look) -> Iterator[Diagnosis]:
    """Name the unreadable lines in the front matter of files."""
    found = []
    for file in look.store.storage.catalog.source_files():
        if format_of(file.path).is_text and not grows(file.path):
            warnings = warnings_of(look.store, file.path)
            found += [f"{file.path}: {text}" for text, kind in warnings if kind == "front matter"]
    if found:
        yield Diagnosis(True, _first(found))


def _dates(look: Look) -> Iterator[Diagnosis]:
    """Count the undated documents with a date in their name or head that can be read in two ways."""
    store = look.store
    _, documents = store.storage.catalog.listing(None, store.stats()["doc_count"] or 1)
    undated = [document["doc_id"] for document in documents if document["date"] is None]
    names = [doc_id for doc_id in undated if looks_dated(doc_id, _head(store, doc_id))]
    if names:
        notes = plural(len(undated), "note without a date", "notes without a date")
        verb = "looks" if len(names) == 1 else "look"
        text = f"{len(names)} of {notes} {verb} dated: {_first(names)}"
        yield Diagnosis(True, text, "write the date as 2026-01-05")


def _head(store: HybridStore, doc_id: str) -> str:
    first = store.storage.chunks.at(doc_id, 1, LINES_OF_HEAD)
    return "\n".join(row.text for row in store.storage.chunks.rows(first).values())


def _permissions(look: Look) -> Iterator[Diagnosis]:
    """Check who can access the database, if it is a file."""
    path = look.store.path
    if not os.path.isfile(path):
        return
    problems = []
    for file in filter(os.path.exists, (path, path + "-wal", path + "-shm")):
        mode = stat.S_IMODE(os.stat(file).st_mode)
        if mode & 0o077:
            problems.append(f"other users can access {file} (mode {mode:o})")
    way_out = f"`chmod 600 {shlex.quote(path)}*`"
    yield from _problems(problems, "only the owner can access the database", way_out)


def _hooks(look: Look) -> Iterator[Diagnosis]:
    """Report when the hook of each agent last ran, connected agents whose hook never did, and those
    that are connected twice.
    """
    for host in hosts().values():
        by_plugin = has_plugin(host)
        if by_plugin and is_connected(host):
            text = f"{host.title} shows each passage twice: by its plugin and by `connect`"
            way_out = f"`hybrid-memory disconnect {host.name}` leaves the plugin"
            yield Diagnosis(False, text, way_out)
        runs = summary(host.name)
        if runs["last"] is not None:
            yield Diagnosis(True, f"{host.title}: {runs['text']}")
        elif by_plugin or (host.files and is_connected(host)):
            yield Diagnosis(True, f"{host.title}: connected, but {runs['text']}", host.trust)
    interrupted = begun()
    if interrupted:
        text = f"the ingest of {plural(len(interrupted), 'session')} was interrupted, or still runs"
        yield Diagnosis(True, text, "the start of the next session repeats it")


def _refused(look: Look) -> Iterator[Diagnosis]:
    """Name the refused files that hooks tried to ingest as transcripts."""
    files = []
    for each in refusals(look.store.path):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.time))
        files.append(f"{each.named} ({when}: {each.reason})")
    if files:
        count = plural(len(files), "file")
        text = f"refused {count} that hooks named as transcripts in the last week: {_first(files)}"
        way_out = "`hybrid-memory ingest --path FILE` ingests a file that you trust"
        yield Diagnosis(True, text, way_out)


def _problems(problems: Sequence[str], ok: str, way_out: str) -> Iterator[Diagnosis]:
    """One diagnosis of all problems; without problems, the sentence `ok`."""
    if problems:
        yield Diagnosis(False, _first(problems), way_out)
    else:
        yield Diagnosis(True, ok)


def _first(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    more = [f"{len(names) - MOST_NAMED:,} more"] if len(names) > MOST_NAMED else []
    return ", ".join([*names[:MOST_NAMED], *more])


Check = Callable[[Look], Iterable[Diagnosis]]
CHECKS: dict[str, Check] = {
    "engine": _engine,
    "integrity": _integrity,
    "keyword index": _keyword_index,
    "indexed": _compared(_index_differences, "every chunk is in the keyword index", REINDEX),
    "documents": _compared(lambda look: look.checks.rows(), "notes and chunks agree", DAMAGED_ROWS),
    "vector index": _compared(
        lambda look: look.checks.vectors(thorough=look.thorough),
        "it has a place for every embedding",
        REINDEX,
    ),
    "embedder": _embedder,
    "reranker": _reranker,
    "embeddings": _embeddings,
    "change of model": _change_of_model,
    "sources": _sources,
    "texts": _texts,
    "left out": _left_out,
    "only here": _only_here,
    "front matter": _front_matter,
    "dates": _dates,
    "permissions": _permissions,
    "hooks": _hooks,
    "refused": _refused,
}
