"""A chunk with those before and after it, as one text with its lines."""

import re
from itertools import pairwise
from typing import NamedTuple

from ..documents.chunker import WORD_START
from ..documents.formats import format_of
from ..storage.document_rows import Neighbour
from ..storage.protocol import Storage
from ..text.characters import UNSPACED

_UNSPACED = re.compile(f"[{UNSPACED}]")


class Passage(NamedTuple):
    """A text that stands on lines start_line..end_line of its source."""

    text: str
    start_line: int
    end_line: int


def around(storage: Storage, doc_id: str, id: int, count: int) -> Passage:
    """The chunk of this chunks.id and up to `count` chunks on either side, without what they repeat of each other.

    Blank lines between chunks are restored, so that the text has as many lines as it says. Records of a log, as the messages of
    a transcript are, stand a blank line apart instead, because most lines between them say nothing.
    """
    chunks = storage.chunks.around(doc_id, id, count)
    if format_of(doc_id).grows:
        return Passage("\n\n".join(chunk.text for chunk in chunks), chunks[0].start_line, chunks[-1].end_line)
    size, overlap = map(int, chunks[0].chunking.split(":")[1:])
    text, end = chunks[0].text, chunks[0].end_line
    for before, chunk in pairwise(chunks):
        text += _rest(before, chunk, size, overlap)
        end = max(end, chunk.end_line)
    return Passage(text, chunks[0].start_line, end)


def _rest(before: Neighbour, chunk: Neighbour, size: int, overlap: int) -> str:
    """What a chunk adds to the one before it."""
    breaks = chunk.start_line - before.end_line
    if breaks > 0:
        return "\n" * breaks + chunk.text
    if repeated := _repeated(before.text, chunk.text, -breaks, overlap):
        return chunk.text[repeated:]
    is_cut_inside_a_word = _UNSPACED.match(chunk.text) or len(before.text.split()[-1]) >= size
    return chunk.text if is_cut_inside_a_word else f" {chunk.text}"


def _repeated(before: str, text: str, breaks: int, overlap: int) -> int:
    """How many characters at the start of `text` repeat the end of `before`, from the start of a word, over `breaks` line breaks.

    The largest such number: where words repeat themselves, smaller ones would fit as well.
    """
    least = len(text) - len(text.split("\n", breaks)[-1]) + 1
    head = text[:16]
    words = WORD_START.finditer(before, max(len(before) - min(overlap, len(text)), 0), len(before) - least + 1)
    for word in words:
        repeated = len(before) - word.start()
        looks_so = before.startswith(head[:repeated], word.start())  # spares a copy
        if looks_so and text.startswith(before[word.start() :]) and text.count("\n", 0, repeated) == breaks:
            return repeated
    return 0
