"""Functions of characters and lines: graphemes, scripts without spaces, characters that can be
stored, and terminal columns. Also the hash that identifies a content: 16 bytes of BLAKE2b (RFC
7693).

An East Asian wide character takes two columns and a combining mark takes none. An emoji joined from
several others counts as all of its parts, so that a line comes out too short rather than too long.

Lines are counted as citations count them; the citation of a passage names its pages.
"""

import re
import unicodedata
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING
from unicodedata import category, east_asian_width

if TYPE_CHECKING:
    from hashlib import blake2b

# A pattern that many searches do not need is compiled when it is first used. Faster than the cache
# of `re`
pattern = cache(re.compile)

_ZERO_WIDTH_JOINER = "\u200d"
# Characters that extend the one before them, but are not marks in unicodedata: joiners, vowels, skin
# tones, jamo
_EXTENDS = (
    "[\u200c\u200d\u0e33\u0eb3\uff9e\uff9f\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
    "\u1160-\u11ff\ud7b0-\ud7fb]"
)
# Jamo, Arabic number signs
_LEADS = "[\u1100-\u115f\ua960-\ua97c\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]"
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))  # two make a flag
_LONGEST_FLAG_RUN = 64  # letters to examine, so that a text of flags takes linear time
_VIRAMA = 9  # the combining class of the sign that joins two consonants


def storable(text: str) -> str:
    """Replace unpaired surrogates, which UTF-8 and therefore SQLite cannot hold, with question
    marks.
    """
    return text.encode("utf-8", "replace").decode("utf-8")


def plural(count: int, noun: str, nouns: str = "") -> str:
    """A count with its noun: 1 file, 1,204 files.

    `nouns` is the text after any count but 1, if it is not `noun` with an "s": 1 file is new, 2
    files are new.
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {nouns or noun + 's'}"


def storable_name(name: str) -> str:
    """Escape the bytes of a file name that are not UTF-8. Python has them as unpaired surrogates."""
    return name.encode("utf-8", "backslashreplace").decode()


BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


def marked_encoding(data: bytes) -> str | None:
    """The encoding that a byte order mark of UTF-16 declares; None without such a mark."""
    return BYTE_ORDER_MARKS.get(data[:2])


def text_of_bytes(data: bytes, errors: str = "replace") -> str:
    """Decode UTF-16 with a byte order mark, and anything else as UTF-8. The mark is left out.

    Raises UnicodeDecodeError if `errors` is "strict".
    """
    encoding = marked_encoding(data)
    return data[2:].decode(encoding, errors) if encoding else data.decode("utf-8", errors)


def with_plain_newlines(text: str) -> str:
    """Remove a byte order mark, and end every line with a line feed. The number of lines stays the
    same.
    """
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def begins_grapheme(text: str, at: int) -> bool:
    """Whether a reader sees text[at - 1] and text[at] as two characters, so that the text may be
    cut between them.

    The rules are those of Unicode's UAX 29, as far as unicodedata has the properties. In doubt the
    result is False.
    """
    if at <= 0 or at >= len(text):
        return True
    before = text[at - 1]
    after = text[at]
    if before.isascii() and after.isascii():
        return before != "\r" or after != "\n"
    if (
        unicodedata.category(after)[0] == "M"
        or pattern(_EXTENDS).match(after)
        or before == _ZERO_WIDTH_JOINER
    ):
        return False
    if after.isalnum() and (
        pattern(_LEADS).match(before) or unicodedata.combining(before) == _VIRAMA
    ):
        return False
    if before in _FLAG_LETTERS and after in _FLAG_LETTERS:
        run = text[max(at - _LONGEST_FLAG_RUN, 0) : at]
        return (len(run) - len(run.rstrip(_FLAG_LETTERS))) % 2 == 0
    return True


WIDEST = 2  # columns of one character


def columns(text: str) -> int:
    """The width of the text in terminal columns."""
    return sum(map(_width, text))


def clipped(text: str, room: int) -> str:
    """The text if it fits into `room` columns, else its beginning and `…`."""
    if columns(text) <= room:
        return text
    return text[: _fitting(text, 0, room - 1)].rstrip() + "…"


def wrapped(text: str, room: int) -> list[str]:
    """Wrap the text to lines of at most `room` columns, but not less than WIDEST.

    Lines are broken at spaces. A word with wide characters, or longer than a line, is broken
    inside.
    """
    room = max(room, WIDEST)
    lines: list[str] = []
    line = ""
    used = 0
    for word in text.split():
        width = columns(word)
        gap = " " if line else ""
        if used + len(gap) + width > room and len(word) == width <= room:
            lines.append(line)
            line = ""
            used = 0
            gap = ""
        at = 0
        while at < len(word):
            end = _fitting(word, at, room - used - len(gap))
            if end == at and not line:
                end = at + 1  # the first character of a grapheme that is wider than a line
            if end > at:
                line += gap + word[at:end]
                used += len(gap) + columns(word[at:end])
                at = end
                gap = ""
            if at < len(word):
                lines.append(line)
                line = ""
                used = 0
                gap = ""
    return [*lines, line]


def _width(character: str) -> int:
    if character.isascii():
        return 1
    if category(character) in ("Mn", "Me", "Cf"):
        return 0
    if east_asian_width(character) in "WF":
        return 2
    return 1


def _fitting(text: str, start: int, room: int) -> int:
    """Find where to cut text from `start` so that it fits into `room` columns, without cutting a
    grapheme.
    """
    end = start
    while end < len(text):
        room -= _width(text[end])
        if room < 0:
            break
        end += 1
    while end > start and not begins_grapheme(text, end):
        end -= 1
    return end


HASH_SIZE = 16  # bytes


def hasher() -> "blake2b":
    """A hash object. `update` adds contents piece by piece, so that they need not fit into memory."""
    import hashlib  # a slow import that a keyword search does not need

    return hashlib.blake2b(digest_size=HASH_SIZE)


def digest(data: bytes) -> bytes:
    """The hash of these bytes."""
    import hashlib

    return hashlib.blake2b(data, digest_size=HASH_SIZE).digest()


# From Devanagari up to the arrows: as many characters as private-use letters
_MARKS_BASE = 0x0900
_MARKS_END = 0x2200
_PRIVATE = 0xE000
_LETTERS = {
    "đ": "d", "Đ": "d", "ð": "d", "Ð": "d", "ł": "l", "Ł": "l", "ø": "o", "Ø": "o",
    "ħ": "h", "Ħ": "h", "ı": "i",
    "’": "'", "‐": "-", "‑": "-", "ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe",
    "þ": "th", "Þ": "th",
    "ς": "σ",
    # Arabic as in Larkey, Ballesteros and Connell, "Improving stemming for Arabic information
    # retrieval" (SIGIR 2002).
    "ى": "ي", "ة": "ه", "ـ": "", "ک": "ك", "ی": "ي",
    # Invisible characters: soft hyphen, joiners, byte order mark, direction marks. A zero-width
    # space ends a word.
    "\u00ad": "", "\u200b": " ", **dict.fromkeys("\u200c\u200d\u2060\ufeff\u200e\u200f\u061c", ""),
    **dict.fromkeys("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ""),
}  # fmt: skip
# Й is a consonant, и is a vowel
_KEPT_LETTERS = [(letter, unicodedata.normalize("NFD", letter)) for letter in "йЙ"]
# The voicing marks of kana: か and が are different letters
_KEPT_MARKS = frozenset("\u3099\u309a")

QUOTES = str.maketrans(dict.fromkeys("“”„«»", '"'))  # applied to queries


def fold(text: str) -> str:
    """Remove compatibility forms, diacritics and invisible characters, which do not distinguish
    words.

    Replacing the few characters that occur one by one takes a third of the time of `translate`.
    """
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKD", text)
    characters = set(text)
    for c in characters & _LETTERS.keys():
        text = text.replace(c, _LETTERS[c])
    for letter, parts in _KEPT_LETTERS:
        text = text.replace(parts, letter)
    for c in characters:
        if c >= "\u0300" and _is_mark(c):
            text = text.replace(c, _folded_mark(c))
    return unicodedata.normalize("NFC", text)


def spellings(text: str) -> dict[str, str]:
    """Map each folded word of a text, in lower case, to its first spelling.

    'Die Bäder' -> {die: Die, bader: Bäder}
    """
    words = re.findall(r"\w+", text)
    return {fold(word).lower(): word for word in reversed(words)}


def _is_mark(c: str) -> bool:
    # FTS5 took its categories from Unicode 6.1, where the New Tai Lue vowels and two Vedic signs
    # were marks.
    return (
        unicodedata.category(c)[0] == "M" or "\u19b0" <= c <= "\u19c9" or "\u1cf2" <= c <= "\u1cf3"
    )


def _folded_mark(c: str) -> str:
    if c in _KEPT_MARKS:
        return c
    code = ord(c)
    if not _MARKS_BASE <= code < _MARKS_END or unicodedata.combining(c) == 7:  # 7: nukta
        return ""
    return chr(_PRIVATE + code - _MARKS_BASE)


def is_folded_mark(c: str) -> bool:
    """Whether `fold` has made this letter of a mark, such as a vowel of Devanagari."""
    return _PRIVATE <= ord(c) < _PRIVATE + _MARKS_END - _MARKS_BASE


def split_lines(text: str) -> list[str]:
    """The lines as citations count them: a form feed or a Unicode separator does not end a line, and a
    line break at the end of the text begins none.
    """
    return with_plain_newlines(text).removesuffix("\n").split("\n")


def lines_at(text: str, places: Iterable[int], line: int) -> Iterator[int]:
    """The lines of positions in ascending order, in a text that begins on this `line`."""
    counted = 0
    for place in places:
        line += text.count("\n", counted, place)
        counted = place
        yield line


OF_PAGES = r"(?: \(pp?\. [0-9]{1,9}(?:-[0-9]{1,9})?\))?"  # at the end of a citation


def citation(doc_id: str, start_line: int, end_line: int, pages: Sequence[int] = ()) -> str:
    """'memory/a.md#L12-L30', or 'papers/a.pdf#L12-L30 (pp. 1-2)' if pages begin with these lines."""
    return f"{doc_id}#L{start_line}-L{end_line}{_pages(page(pages, start_line), page(pages, end_line))}"


def page(pages: Sequence[int], line: int) -> int:
    """The page of a line, from 1, if `pages` are the first lines of pages: [1, 40, 80], 40 -> 2.

    0 if there are no pages.
    """
    return bisect(pages, line)


def _pages(first: int, last: int) -> str:
    if not first:
        return ""
    return f" (p. {first})" if first == last else f" (pp. {first}-{last})"
