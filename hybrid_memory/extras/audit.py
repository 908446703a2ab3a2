"""The findings of `doctor --audit`: copies, outdated notes, notes without incoming links, secrets,
huge notes, and statements that several sessions repeat and no note has. An audit only reads the
store; it asks no model and changes nothing.

To add a kind, write a function that maps a memory to places, and add a row to KINDS. The store does
not record searches, so an audit cannot find passages that nobody reads.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from typing import Any, NamedTuple, TextIO, TypeVar
from zlib import crc32

from ..documents.formats import grows
from ..search.revisions import SUPERSEDED_BY, SUPERSEDES, is_named, named_documents
from ..storage.interface import Storage
from ..storage.rows import ChunkRow
from ..store import HybridStore, retry_once
from ..surface.streams import harmless
from ..text.characters import citation, plural
from .formats.redaction import redact

Item = TypeVar("Item")

SHOWN = 20  # places listed per kind; the rest are only counted
NAMED = 3  # copies cited per finding
BATCH = 500  # passages read at a time
READ_TOGETHER = 20  # passages scanned for secrets at once: twice as fast as one by one

FEWEST_WORDS = 12  # of a copy; shorter passages are headings and templates
FEWEST_OF_PROSE = 30  # words of a near copy, not counting links, tags and table rules
LEAST_RESEMBLANCE = 0.8  # minimum share of common words between near copies
SHINGLE = 4  # consecutive words
SKETCH = 6  # smallest shingle hashes kept per passage, to find candidate pairs
LEAST_SHARED = 2  # hashes that a candidate pair has in common
CROWD = 12  # a hash shared by more passages comes from a template and is ignored
LEAST_OF_PRIVATE_KEY = 160  # characters, with header and footer; Ed25519 keys are the shortest
HUGE = 60_000  # characters of a document, about thirty pages

FEWEST_SESSIONS = 3  # that say the same, until it should be in a note
FEWEST_OF_SENTENCE = 5  # words; fewer are phrases such as "Thank you"
MOST_OF_SENTENCE = 60
SPEAKER = re.compile(r"^(?:User|Assistant): ")
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
NAMES = re.compile(r"(?<=[a-z,;] )([A-Z][a-z]{2,}(?: [A-Z][a-z]+)*)")
LOWER = re.compile(r"\b[a-z]{3,}\b")

STATUSES = ("superseded", "obsolete", "deprecated", "replaced", "outdated")
# A status line for the whole note, as in decision records
STATUS_LINE = re.compile(
    r"^[\W_]*(?:status[\W_]+)?(?:superseded|obsoleted) by\b"
    r"|^[\W_]*status[\W_]+(?:superseded|obsolete|deprecated|outdated)\b",
    re.IGNORECASE | re.MULTILINE,
)
NO_PROSE = re.compile(r"\]\([^)\s]*\)|<[^<>\n]*>|https?://\S+|[-=]{3,}")
# Placeholders for secrets in documentation: words such as "example", variables, patterns, and runs
# of one character. RUN and ONLY_WORDS match further ones: sequences such as 1234 or abcd, and text
# that consists of words and small numbers (which may also be a weak password)
PLACEHOLDER = re.compile(
    r"example|sample|placeholder|dummy|fake|replace|redacted|change[_-]?me|your|not[_-]real|base64"
    r"|^user:|[<>{}|`]|=\"|a-z0-9|\.\.\.|…|([\dxX*])\1{5}",
    re.IGNORECASE,
)
RUN = re.compile("0?1234?5?6?7?8?9?0?|9?8?7?6?5?4?3210?|abcd?e?f?g?h?|f?e?dcba", re.IGNORECASE)
WORD = "(?:[A-Z]?[a-z]*(?:[A-Z][a-z]{2,})*|[A-Z]+|[A-Za-z]{0,3}[0-9]{1,3})"
ONLY_WORDS = re.compile(rf"{WORD}(?:[-_./:]+{WORD})*")
DATED = re.compile(r"\d{4}-?\d{2}-?\d{2}|\d{4}-W\d{2}")


class Place(NamedTuple):
    """A citation and a remark about it."""

    citation: str
    note: str


class Listing(NamedTuple):
    """The findings of one kind: their total number and the first of them."""

    kind: str
    about: str
    total: int
    places: list[Place]

    def as_json(self) -> dict[str, Any]:
        """The JSON form, as printed by `doctor --audit --json`."""
        return self._asdict() | {"places": [place._asdict() for place in self.places]}


class Passage:
    """A chunk and its location; `words` is its text in lower case without punctuation."""

    def __init__(self, row: ChunkRow) -> None:
        self.row = row
        self.doc_id = row.doc_id
        self.text = row.text
        self.words = " ".join(re.findall(r"\w+", row.text.lower()))
        self.count = self.words.count(" ") + 1

    @property
    def citation(self) -> str:
        row = self.row
        return citation(row.doc_id, row.start_line, row.end_line, row.pages)


class FirstPassages:
    """The first passage of every document; reads a tenth of what `Memory` does."""

    def __init__(self, storage: Storage) -> None:
        chunks = storage.chunks
        ids = [chunks.at(doc_id)[:1] for doc_id in sorted(storage.catalog.ids())]
        rows = [row for first in ids for row in chunks.rows(first).values()]
        self.documents = {row.doc_id: [Passage(row)] for row in rows}

    def first(self) -> Iterator[Passage]:
        for passages in self.documents.values():
            yield from passages[:1]


class Memory(FirstPassages):
    """The input of the audits: all passages, by document, and the documents that others link to."""

    def __init__(self, storage: Storage) -> None:
        self.documents = {}
        for doc_id in sorted(storage.catalog.ids()):
            passages: list[Passage] = []
            for ids in _batches(storage.chunks.at(doc_id), BATCH):
                passages += map(Passage, storage.chunks.rows(ids).values())
            self.documents[doc_id] = passages
        self.linked: set[str] = set()
        links = storage.links
        for doc_id in self.documents:
            targets = {link.doc_id for link in links.links_of(doc_id) if link.doc_id}
            self.linked |= targets - {doc_id}

    def passages(self) -> Iterator[Passage]:
        """Yield all passages, document by document."""
        for passages in self.documents.values():
            yield from passages


@retry_once
def audit(store: HybridStore) -> list[Listing]:
    """Return a listing for each kind, including the empty ones."""
    with store.storage.snapshot():
        memory = Memory(store.storage)
    listings = []
    for kind, (about, places_of) in KINDS.items():
        places = list(places_of(memory))
        listings.append(Listing(kind, about, len(places), places[:SHOWN]))
    return listings


def show(listings: Iterable[Listing], stream: TextIO) -> None:
    """Print a line for each kind, followed by its places."""
    for listing in listings:
        print(f"{listing.total:>6,}  {listing.kind}: {listing.about}", file=stream)
        for place in listing.places:
            print(harmless(f"        {place.citation}  {place.note}"), file=stream)
        if listing.total > len(listing.places):
            print(f"        and {listing.total - len(listing.places):,} more", file=stream)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    remaining = iter(items)
    batch = list(islice(remaining, size))
    while batch:
        yield batch
        batch = list(islice(remaining, size))


def copies(memory: Memory) -> Iterator[Place]:
    """Yield the first passage of each group with the same words, the largest group first."""
    by_words: dict[str, list[Passage]] = defaultdict(list)
    for passage in memory.passages():
        if passage.count >= FEWEST_WORDS:
            by_words[passage.words].append(passage)
    groups = [passages for passages in by_words.values() if len(passages) > 1]
    for first, *others in sorted(groups, key=len, reverse=True):
        places = plural(len(others), "other place", "other places")
        yield Place(first.citation, f"also in {places}: {_cite(others)}")


def _cite(passages: Sequence[Passage]) -> str:
    citations = [passage.citation for passage in passages[:NAMED]]
    if len(passages) > NAMED:
        citations.append("…")
    return ", ".join(citations)


def near_copies(memory: Memory) -> Iterator[Place]:
    """Yield the passages that have nearly the same words as one in another document.

    Two passages are compared if they share some of the smallest hashes of their shingles (Broder,
    "On the resemblance and containment of documents", 1997). Of passages with the same words, which
    `copies` lists, only the first is compared.
    """
    first_with: dict[str, Passage] = {}
    for passage in memory.passages():
        if passage.count >= FEWEST_OF_PROSE:
            first_with.setdefault(passage.words, passage)
    passages = list(first_with.values())
    by_hash: dict[int, list[int]] = defaultdict(list)
    for number, passage in enumerate(passages):
        for least in _sketch(passage.words):
            by_hash[least].append(number)
    shared: Counter[tuple[int, int]] = Counter()
    for numbers in by_hash.values():
        if len(numbers) <= CROWD:
            shared.update(combinations(numbers, 2))
    candidates = [pair for pair, count in shared.items() if count >= LEAST_SHARED]
    reported = set()
    for one, other in sorted(candidates):
        first = passages[one]
        second = passages[other]
        if other in reported or first.doc_id == second.doc_id:
            continue
        share = _resemblance(first.words, second.words)
        if share >= LEAST_RESEMBLANCE and has_prose(first.text) and has_prose(second.text):
            reported.add(other)
            yield Place(second.citation, f"{share:.0%} the words of {first.citation}")


def has_prose(text: str) -> bool:
    """Whether a text is prose; templates and lists of links always look alike."""
    return len(re.findall(r"\w+", NO_PROSE.sub(" ", text))) >= FEWEST_OF_PROSE


def _sketch(words: str) -> list[int]:
    """Return the smallest hashes of the shingles."""
    encoded = words.encode().split()
    shingles = zip(*(encoded[start:] for start in range(SHINGLE)), strict=False)
    return sorted(set(map(crc32, map(b" ".join, shingles))))[:SKETCH]


def _resemblance(first: str, second: str) -> float:
    """The Jaccard index of two texts as multisets of words."""
    first_counts = Counter(first.split())
    second_counts = Counter(second.split())
    common = first_counts & second_counts
    either = first_counts | second_counts
    return common.total() / either.total()


def superseded(memory: FirstPassages) -> Iterator[Place]:
    """Yield the documents that are marked as no longer valid: by their metadata, by another
    document's metadata, or by a status line in their text.
    """
    by_others: dict[str, str] = {}
    for passage in memory.first():
        for name in named_documents(passage.row.metadata, SUPERSEDES):
            by_others[name] = passage.doc_id
    for doc_id, passages in memory.documents.items():
        if not passages:
            continue
        first = passages[0]
        metadata = first.row.metadata
        successors = named_documents(metadata, SUPERSEDED_BY)
        others = [other for name, other in by_others.items() if is_named(doc_id, [name])]
        status = str(metadata.get("status", ""))
        if successors:
            yield Place(doc_id, f"its metadata name a successor: {', '.join(successors)}")
        elif status.lower().startswith(STATUSES):
            yield Place(doc_id, f"its status is {status!r}")
        elif others:
            yield Place(doc_id, f"{others[0]} supersedes it")
        elif STATUS_LINE.search(first.text):
            yield Place(first.citation, "its text says so")


def not_linked(memory: Memory) -> Iterator[Place]:
    """Yield the notes without incoming links, in collections that have links at all.

    Notes named after a date and texts without a file are left out, as one finds them in other ways.
    """
    linking = set()
    for passage in memory.first():
        if passage.doc_id in memory.linked:
            linking.add(passage.row.collection)
    for passage in memory.first():
        row = passage.row
        name = row.doc_id.rpartition("/")[2]
        if row.collection not in linking or row.doc_id in memory.linked:
            continue
        if row.path and row.path.endswith(".md") and not DATED.search(name):
            yield Place(row.doc_id, "no link leads to it")


def secrets(memory: Memory) -> Iterator[Place]:
    """Yield the passages with a secret that would be masked in a transcript. Placeholders, as in
    documentation, do not count. The secret itself is not repeated.
    """
    by_text: dict[str, list[Passage]] = defaultdict(list)
    for passage in memory.passages():
        by_text[passage.text].append(passage)
    for texts in _batches(by_text, READ_TOGETHER):
        together = "\n\n".join(texts)
        if redact(together, looks_real) == together:
            continue
        for text in texts:
            if redact(text, looks_real) != text:
                for passage in by_text[text]:
                    yield Place(passage.citation, "a key, a token or a password")


def looks_real(secret: str) -> bool:
    """Whether a secret looks real and not like a placeholder.

    `sk-proj-aB3dE5gH7jK9 -> True`, `example-key-not-real -> False`, `ollama-local -> False`
    """
    if "-----" in secret:  # a private key in PEM format
        return len(secret) > LEAST_OF_PRIVATE_KEY
    if PLACEHOLDER.search(secret):
        return False
    return not ONLY_WORDS.fullmatch(RUN.sub("", secret))


def huge(memory: Memory) -> Iterator[Place]:
    """Yield the notes of more than HUGE characters, longest first. Transcripts are left out: they
    are always long.
    """
    sizes = Counter[str]()
    for passage in memory.passages():
        if not passage.doc_id.endswith(".jsonl"):
            sizes[passage.doc_id] += len(passage.text)
    for doc_id, size in sizes.most_common():
        if size <= HUGE:
            break
        chunks = plural(len(memory.documents[doc_id]), "passage", "passages")
        yield Place(doc_id, f"{size:,} characters, {chunks}")


def unwritten(memory: Memory) -> Iterator[Place]:
    """Yield the names and sentences that occur in FEWEST_SESSIONS transcripts or more and in no
    note, the most frequent first; each with its first passage.

    A name is a capitalised word within a sentence, or several, whose words do not occur in lower
    case anywhere.
    """
    said: dict[str, dict[str, Passage]] = defaultdict(dict)
    lower: set[str] = set()
    written = []
    for passage in memory.passages():
        lower.update(LOWER.findall(passage.text))
        if not grows(passage.doc_id):
            written.append(passage.words)
            continue
        for text in {*NAMES.findall(passage.text), *_sentences(passage.text)}:
            said[text].setdefault(passage.doc_id, passage)
    notes = f" {' '.join(written)} "
    frequent = [
        (text, sessions) for text, sessions in said.items() if len(sessions) >= FEWEST_SESSIONS
    ]
    for text, sessions in sorted(frequent, key=lambda item: (-len(item[1]), item[0])):
        words = re.findall(r"\w+", text.lower())
        is_name = len(words) < FEWEST_OF_SENTENCE
        if f" {' '.join(words)} " in notes or (is_name and lower.issuperset(words)):
            continue
        first, *others = (passage.citation for passage in sessions.values())
        note = f"{text!r} in {len(sessions)} sessions, also {', '.join(others[:NAMED])}"
        yield Place(first, note)


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a transcript's passage that have some words, without the speaker."""
    for line in text.splitlines():
        for sentence in SENTENCE_END.split(SPEAKER.sub("", line)):
            if FEWEST_OF_SENTENCE <= len(sentence.split()) <= MOST_OF_SENTENCE:
                yield sentence.strip()


KINDS: dict[str, tuple[str, Callable[[Memory], Iterable[Place]]]] = {
    "copies": ("passages that appear word for word in several places", copies),
    "near copies": ("passages that nearly repeat one in another document", near_copies),
    "superseded": ("documents marked as superseded, by themselves or by others", superseded),
    "not linked": ("notes without incoming links, in collections that use links", not_linked),
    "secrets": ("passages that seem to contain a secret", secrets),
    "huge": (f"notes of more than {HUGE:,} characters", huge),
    "unwritten": (
        f"names and sentences in {FEWEST_SESSIONS} or more sessions and in no note",
        unwritten,
    ),
}
