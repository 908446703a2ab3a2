"""Join adjacent passages of a document into one result, and keep the best results within a budget.

A budget counts everything that is printed, so each surface gives the cost of a result.
Passages that fit are not shortened: keeping only the sentences with words of the query, and their
neighbours, put 4 to 8 % less of the wanted text into 4,000 characters. Only where the first passage
does not fit, an excerpt of it is printed.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ..documents.suffixes import grows
from ..storage.bm25 import stems
from ..text.highlight import Highlighter
from ..text.query import Query
from ..text.roles import together
from ..text.scripts import is_unspaced, word_start
from ..text.sentences import ends_sentence
from .hit import Hit
from .request import Budget, Request
from .result import Passage, Result, result_of

if TYPE_CHECKING:
    from ..storage.rows import Neighbour


class Group:
    """Hits of one document whose chunks follow each other: one result."""

    def __init__(self, hits: Sequence[Hit], *, explain: bool) -> None:
        """`hits` are loaded, the best one first."""
        self.hits = hits
        best, *others = hits
        chunks = {place: chunk for hit in hits for place, chunk in placed(hit)}
        self.doc_id = best.doc_id
        self.first = min(chunks)
        self.last = max(chunks)
        self.passage = joined(self.doc_id, [chunks[place] for place in sorted(chunks)])
        self.result = result_of(best, explain=explain, passage=self.passage, joined=others)

    def is_beside(self, hit: Hit) -> bool:
        """Whether the chunks of a hit of the same document and day overlap with the group's or
        follow them without a gap.
        """
        day = hit.row and hit.row.date
        if (hit.doc_id, day) != (self.doc_id, self.result["date"]):
            return False
        places = [place for place, _ in placed(hit)]
        return places[0] <= self.last + 1 and places[-1] >= self.first - 1


def placed(hit: Hit) -> "list[tuple[int, Neighbour]]":
    """Return the chunks of a hit's text, each with its number in the document."""
    before = [chunk.id for chunk in hit.chunks].index(hit.id)
    return list(enumerate(hit.chunks, hit.number - before))


def packed(hits: Sequence[Hit], request: Request) -> tuple[list[Result], Hit | None]:
    """Return the results that fit, in the order of the best hit of each, and the first hit if it is
    not among them. `hits` are loaded, best first.

    A hit that does not fit is left out, and smaller ones after it may still get in. If the first
    one does not fit, an excerpt of it is the only result, because a small passage that hardly bears
    on the query is no answer in its place.
    """
    budget = request.budget or Budget(0, lambda result: 0)
    left = budget.characters - budget.fixed
    left_out: Hit | None = None
    if hits:
        first = Group(hits[:1], explain=request.explain)
        if budget.cost(first.result) > left:
            shorter = _excerpt_that_fits(first, budget, left, explain=request.explain)
            if shorter:
                return [shorter], None
            left_out = hits[0]
    groups: list[Group] = []
    costs: dict[Group, int] = {}
    for hit in hits:
        beside = [group for group in groups if group.is_beside(hit)]
        hits_beside = [neighbour for other in beside for neighbour in other.hits]
        group = Group([*hits_beside, hit], explain=request.explain)
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
    return [group.result for group in groups], left_out


def _excerpt_that_fits(group: Group, budget: Budget, left: int, *, explain: bool) -> Result | None:
    [hit] = group.hits
    query = hit.phrasing.query

    def result(passage: Passage) -> Result:
        return result_of(hit, explain=explain, passage=passage)

    shorter = excerpt(group.passage, query, lambda passage: budget.cost(result(passage)) <= left)
    return result(shorter) if shorter else None


def joined(doc_id: str, chunks: "Sequence[Neighbour]") -> Passage:
    """Join consecutive chunks of a document, without the overlap.

    Blank lines between chunks are restored, so that the text has the lines of its source. Records of
    a log, such as the messages of a transcript, are separated by one blank line instead, because
    most lines between them are not text.
    """
    ids = [chunk.id for chunk in chunks]
    role = together(chunk.role for chunk in chunks)
    if grows(doc_id):
        text = "\n\n".join(chunk.text for chunk in chunks)
        return Passage(text, chunks[0].start_line, chunks[-1].end_line, ids, role)
    size, overlap = map(int, chunks[0].chunking.split(":")[1:3])
    text = chunks[0].text
    end = chunks[0].end_line
    for before, chunk in pairwise(chunks):
        text += _rest(before, chunk, size, overlap)
        end = max(end, chunk.end_line)
    return Passage(text, chunks[0].start_line, end, ids, role)


def _rest(before: "Neighbour", chunk: "Neighbour", size: int, overlap: int) -> str:
    """Return the text that a chunk adds to the one before it. A repeated table header counts no lines."""
    header = chunk.text.count("\n") - (chunk.end_line - chunk.start_line)
    text = chunk.text.split("\n", header)[-1]
    breaks = chunk.start_line - before.end_line
    if breaks > 0:
        return "\n" * breaks + text
    repeated = _repeated(before.text, text, -breaks, overlap)
    if repeated:
        return text[repeated:]
    is_cut_inside_a_word = is_unspaced(text[:1]) or len(before.text.split()[-1]) >= size
    return text if is_cut_inside_a_word else f" {text}"


def _repeated(before: str, text: str, breaks: int, overlap: int) -> int:
    """Count the characters at the start of `text` that repeat the last sentences of `before` and have
    `breaks` line breaks.

    It is the largest such number: where words recur, smaller ones would fit, too.
    """
    least = len(text) - len(text.split("\n", breaks)[-1]) + 1
    head = text[:16]
    earliest = max(len(before) - min(overlap, len(text)), 0)
    for word in word_start(before).finditer(before, earliest, len(before) - least + 1):
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

# Sentences within lines. A cut after an abbreviation does no harm here.
_NOTHING = re.compile(r"\s*(?:=+|-+|(?:</[\w.:-]*>\s*)*)\s*")  # an underline or closing tags
_HEADING = re.compile(r"\s*#{1,6}\s|.*\n {0,3}(?:=+|-+)[ \t]*(?=\n|\Z)")
_SENTENCE = re.compile(r"[^\n]+?(?:[.!?]+[\"')\]*_`]*(?=\s)|[。！？]+|(?=\n)|\Z)")


def excerpt(passage: Passage, query: Query, fits: Callable[[Passage], bool]) -> Passage | None:
    """Shorten a passage to those of its sentences that have a word of the query, as many as fit, and
    the heading above them if that fits, too. An ellipsis stands for what is left out.

    The best sentences have the most different words of the query; of equal ones the first. None if
    the best one does not fit, or if no sentence has a word of the query: a heading is no sentence.
    """
    text = passage.text
    highlighter = Highlighter(query, [text], stems)
    terms = [(span.start, span.term) for span in highlighter.spans(text)]
    sentences = []
    headings = []
    for match in _SENTENCE.finditer(text):
        span = match.end() - len(match[0].lstrip()), match.end()
        if _HEADING.match(text, match.start()):
            headings.append(span)
        elif not _NOTHING.fullmatch(match[0]):
            sentences.append(span)
    matches = {
        (start, end): len({term for at, term in terms if start <= at < end})
        for start, end in sentences
    }
    best_first = sorted(filter(matches.get, sentences), key=lambda span: -matches[span])
    chosen: list[tuple[int, int]] = []
    for sentence in best_first:
        candidates = sorted([*chosen, sentence])
        if fits(_only(passage, candidates)):
            chosen = candidates
        elif not chosen:
            return None
    if not chosen:
        return None
    above = [heading for heading in headings if heading < chosen[0]]
    if above and fits(_only(passage, [above[-1], *chosen])):
        chosen.insert(0, above[-1])
    return _only(passage, chosen)


def _only(passage: Passage, spans: Sequence[tuple[int, int]]) -> Passage:
    """Return these parts of a passage, on the lines that they stand on."""
    text = passage.text
    parts = []
    at = 0
    for start, end in spans:
        gap = text[at:start]
        parts.append(f" {ELLIPSIS} " if gap.strip() else gap)
        parts.append(text[start:end])
        at = end
    if text[at:].strip():
        parts.append(f" {ELLIPSIS}")
    first, last = passage.start_line, passage.end_line
    has_lines_of_source = text.count("\n") == last - first  # unlike that of a transcript
    if has_lines_of_source:
        last = first + text.count("\n", 0, spans[-1][1])
        first += text.count("\n", 0, spans[0][0])
    return Passage("".join(parts).strip(), first, last, role=passage.role)
