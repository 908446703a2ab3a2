"""Passages that stand side by side in a document become one result, and as many results as a budget
allows are kept, best first.

A budget counts what is printed, not passages alone, so whoever prints says what a result costs.
Where passages fit, sentences are not left out: to shorten all passages to the sentences with words
of the query and their neighbours put 4 to 8 % less of the wanted text into 4,000 characters. Only
where the first passage does not fit, its best sentences stand for it.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from ..documents.formats import grows
from ..documents.passages import WORD_START, ends_sentence
from ..storage.keyword import stems
from ..text.characters import UNSPACED, citation, page, within
from ..text.highlight import Highlighter
from ..text.query import Query
from .hit import Budget, Hit, Request, Result

if TYPE_CHECKING:
    from ..storage.protocol import Storage
    from ..storage.rows import Neighbour


class Group:
    """Hits of one document whose chunks follow each other, as one result."""

    def __init__(self, hits: "Sequence[Hit]", make: "Callable[[Hit], Result]") -> None:
        """`hits`, the best one first, know their chunks. `make` gives the result of one of them."""
        best = hits[0]
        chunks = {place: chunk for hit in hits for place, chunk in placed(hit)}
        self.hits = hits
        self.doc_id = best.doc_id
        self.first = min(chunks)
        self.last = max(chunks)
        passage = joined(self.doc_id, [chunks[place] for place in sorted(chunks)])
        start, end = passage.start_line, passage.end_line
        pages = best.row.pages if best.row else ()
        self.result = make(best)
        self.result["text"] = passage.text
        self.result["start_line"] = start
        self.result["end_line"] = end
        self.result["citation"] = citation(self.doc_id, start, end, pages)
        if pages:
            self.result["page"] = page(pages, start)
        self.result["also"] = list(dict.fromkeys(place for hit in hits for place in hit.also))
        if best.newer and best.newer.doc_id == self.doc_id and best.newer.number in chunks:
            self.result["newer"] = None  # the text has the revision, too

    def is_beside(self, hit: "Hit") -> bool:
        """Return whether the hit's chunks, of the same day, overlap with the group's or follow them
        without a gap.
        """
        day = hit.row and hit.row.date
        if (hit.doc_id, day) != (self.doc_id, self.result["date"]):
            return False
        places = [place for place, _ in placed(hit)]
        return places[0] <= self.last + 1 and places[-1] >= self.first - 1


def placed(hit: "Hit") -> "list[tuple[int, Neighbour]]":
    """Return the chunks of a hit's text, each with its number in the document."""
    before = [chunk.id for chunk in hit.chunks].index(hit.id)
    return list(enumerate(hit.chunks, hit.number - before))


def packed(
    hits: "Sequence[Hit]", request: "Request", query: "Query", make: "Callable[[Hit], Result]"
) -> list[Result]:
    """Return the results, in the order of the best hit of each. Hits come best first, and know
    their chunks.

    A hit that no longer fits is left out, and smaller ones after it may still get in. If the first
    one does not fit, its best sentences do: a small passage that hardly bears on the query is no
    answer in its place. If not even a sentence of it fits, there are only smaller passages.
    """
    budget = request.budget or Budget(0, lambda result: 0)
    left = budget.characters - budget.fixed
    if hits:
        first = Group(hits[:1], make).result
        if budget.cost(first) > left:
            shorter = excerpt(first, query, lambda result: budget.cost(result) <= left)
            if shorter:
                return [shorter]
    groups: list[Group] = []
    costs: dict[Group, int] = {}
    for hit in hits:
        beside = [group for group in groups if group.is_beside(hit)]
        hits_beside = [neighbour for other in beside for neighbour in other.hits]
        group = Group([*hits_beside, hit], make)
        cost = budget.cost(group.result)
        more = cost - sum(costs[other] for other in beside)
        if more > left:
            continue
        left -= more
        costs[group] = cost
        if beside:
            groups[groups.index(beside[0])] = group
            groups = [other for other in groups if other not in beside[1:]]
        else:
            groups.append(group)
    return [group.result for group in groups]


_UNSPACED = re.compile(f"[{UNSPACED}]")


class Passage(NamedTuple):
    """A text that stands on lines start_line..end_line of its source."""

    text: str
    start_line: int
    end_line: int


def around(storage: "Storage", doc_id: str, id: int, count: int) -> Passage:
    """Return the chunk of this chunks.id and up to `count` chunks on either side, as `joined` gives them."""
    return joined(doc_id, storage.chunks.around(doc_id, id, count))


def joined(doc_id: str, chunks: "Sequence[Neighbour]") -> Passage:
    """Join chunks of a document that follow each other, without what they repeat of each other.

    Blank lines between chunks are restored, so that the text has as many lines as it says. Records
    of a log, as the messages of a transcript are, stand a blank line apart instead, because most
    lines between them say nothing.
    """
    if grows(doc_id):
        text = "\n\n".join(chunk.text for chunk in chunks)
        return Passage(text, chunks[0].start_line, chunks[-1].end_line)
    size, overlap = map(int, chunks[0].chunking.split(":")[1:3])
    text = chunks[0].text
    end = chunks[0].end_line
    for before, chunk in pairwise(chunks):
        text += _rest(before, chunk, size, overlap)
        end = max(end, chunk.end_line)
    return Passage(text, chunks[0].start_line, end)


def _rest(before: "Neighbour", chunk: "Neighbour", size: int, overlap: int) -> str:
    """Return what a chunk adds to the one before it. A header that it repeats has no lines of its own."""
    header = chunk.text.count("\n") - (chunk.end_line - chunk.start_line)
    text = chunk.text.split("\n", header)[-1]
    breaks = chunk.start_line - before.end_line
    if breaks > 0:
        return "\n" * breaks + text
    repeated = _repeated(before.text, text, -breaks, overlap)
    if repeated:
        return text[repeated:]
    is_cut_inside_a_word = _UNSPACED.match(text) or len(before.text.split()[-1]) >= size
    return text if is_cut_inside_a_word else f" {text}"


def _repeated(before: str, text: str, breaks: int, overlap: int) -> int:
    """Count the characters at the start of `text` that repeat the last sentences of `before`, over
    `breaks` line breaks.

    The largest such number: where words repeat themselves, smaller ones would fit as well.
    """
    least = len(text) - len(text.split("\n", breaks)[-1]) + 1
    head = text[:16]
    earliest = max(len(before) - min(overlap, len(text)), 0)
    for word in WORD_START.finditer(before, earliest, len(before) - least + 1):
        start = word.start()
        repeated = len(before) - start
        if not _begins_sentence(before, start):
            continue
        if not before.startswith(head[:repeated], start):  # spares a copy
            continue
        if text.startswith(before[start:]) and text.count("\n", 0, repeated) == breaks:
            return repeated
    return 0


def _begins_sentence(text: str, at: int) -> bool:
    head = text[max(at - 100, 0) : at].rstrip(" \t>")
    return head.endswith("\n") or ends_sentence(text, at - min(at, 100) + len(head))


ELLIPSIS = "…"

# Lines, and in them sentences. What ends with an abbreviation is cut once too often, which does no
# harm here.
_NOTHING = re.compile(r"\s*(?:</[\w.:-]*>\s*)*")  # closing tags
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?]+[\"')\]*_`]*(?=\s)|[。！？]+|(?=\n)|\Z)")


def excerpt(result: Result, query: Query, fits: Callable[[Result], bool]) -> Result | None:
    """Return the result with as many of its best sentences as fit, an ellipsis for what is left
    out, and the lines of what is left; None if not even one fits.

    The best have the most different words of the query; of equal ones the first.
    """
    text = result["text"]
    highlighter = Highlighter(query, [text], stems)
    terms = [(span.start, span.term) for span in highlighter.spans(text)]
    sentences = [
        match.span() for match in _SENTENCE.finditer(text) if not _NOTHING.fullmatch(match[0])
    ]

    def worth(number: int) -> tuple[int, int]:
        start, end = sentences[number]
        return -len({term for at, term in terms if start <= at < end}), number

    chosen: list[int] = []
    shortened: Result | None = None
    for number in sorted(range(len(sentences)), key=worth):
        candidates = sorted([*chosen, number])
        longer = _with_sentences(result, [sentences[candidate] for candidate in candidates])
        if fits(longer):
            chosen.append(number)
            shortened = longer
    return shortened


def _with_sentences(result: Result, spans: list[tuple[int, int]]) -> Result:
    """Return the result with these sentences of its text alone."""
    text: str = result["text"]
    parts = []
    at = 0
    for start, end in spans:
        gap = text[at:start]
        parts.append(f" {ELLIPSIS} " if gap.strip() else gap)
        parts.append(text[start:end])
        at = end
    if text[at:].strip():
        parts.append(f" {ELLIPSIS}")
    first, last = result["start_line"], result["end_line"]
    has_lines_of_source = text.count("\n") == last - first  # unlike that of a transcript
    if has_lines_of_source:
        last = first + text.count("\n", 0, spans[-1][1])
        first += text.count("\n", 0, spans[0][0])
    place = within(result["citation"], citation(result["doc_id"], first, last))
    return result | {
        "text": "".join(parts).strip(),
        "start_line": first,
        "end_line": last,
        "citation": place,
    }
