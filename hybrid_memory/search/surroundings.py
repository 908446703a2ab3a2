"""A chunk with those before and after it, as one text with its lines."""

import re
from collections.abc import Sequence
from itertools import pairwise

from ..documents.cutting.passages import WORD_START
from ..documents.cutting.sentences import ends_sentence
from ..documents.formats import format_of
from ..storage.document_rows import Neighbour
from ..storage.protocol import Storage
from ..text.characters import UNSPACED
from ..typed.names import NamedTuple

_UNSPACED = re.compile(f"[{UNSPACED}]")


class Passage(NamedTuple):
    """A text that stands on lines start_line..end_line of its source."""

    text: str
    start_line: int
    end_line: int


def around(storage: Storage, doc_id: str, id: int, count: int) -> Passage:
    """The chunk of this chunks.id and up to `count` chunks on either side, as `joined` gives them."""
    return joined(doc_id, storage.chunks.around(doc_id, id, count))


def joined(doc_id: str, chunks: Sequence[Neighbour]) -> Passage:
    """Chunks of a document that follow each other, without what they repeat of each other.

    Blank lines between chunks are restored, so that the text has as many lines as it says. Records of a log, as the messages of
    a transcript are, stand a blank line apart instead, because most lines between them say nothing.
    """
    if format_of(doc_id).grows:
        return Passage("\n\n".join(chunk.text for chunk in chunks), chunks[0].start_line, chunks[-1].end_line)
    size, overlap = map(int, chunks[0].chunking.split(":")[1:3])
    text, end = chunks[0].text, chunks[0].end_line
    for before, chunk in pairwise(chunks):
        text += _rest(before, chunk, size, overlap)
        end = max(end, chunk.end_line)
    return Passage(text, chunks[0].start_line, end)


def _rest(before: Neighbour, chunk: Neighbour, size: int, overlap: int) -> str:
    """What a chunk adds to the one before it. A header that it repeats has no lines of its own."""
    header = chunk.text.count("\n") - (chunk.end_line - chunk.start_line)
    text = chunk.text.split("\n", header)[-1]
    breaks = chunk.start_line - before.end_line
    if breaks > 0:
        return "\n" * breaks + text
    if repeated := _repeated(before.text, text, -breaks, overlap):
        return text[repeated:]
    is_cut_inside_a_word = _UNSPACED.match(text) or len(before.text.split()[-1]) >= size
    return text if is_cut_inside_a_word else f" {text}"


def _repeated(before: str, text: str, breaks: int, overlap: int) -> int:
    """How many characters at the start of `text` repeat the last sentences of `before`, over `breaks` line breaks.

    The largest such number: where words repeat themselves, smaller ones would fit as well.
    """
    least = len(text) - len(text.split("\n", breaks)[-1]) + 1
    head = text[:16]
    words = WORD_START.finditer(before, max(len(before) - min(overlap, len(text)), 0), len(before) - least + 1)
    for word in words:
        repeated = len(before) - word.start()
        if not _begins_sentence(before, word.start()):
            continue
        looks_so = before.startswith(head[:repeated], word.start())  # spares a copy
        if looks_so and text.startswith(before[word.start() :]) and text.count("\n", 0, repeated) == breaks:
            return repeated
    return 0


def _begins_sentence(text: str, at: int) -> bool:
    head = text[max(at - 100, 0) : at].rstrip(" \t>")
    return head.endswith("\n") or ends_sentence(text, at - min(at, 100) + len(head))
