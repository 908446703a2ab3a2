"""Where a sentence ends. The characters around a place decide: 'z.B. Dr. Smith of the U.S. paid 3.5 for
v1.2.3.' is one sentence. Pure.
"""

from functools import cache

from .characters import pattern
from .languages import folded, full_names, languages, words

CLOSING = "\"'”’»)]}*_`"
ENDS = ".!?…؟۔।"
WIDE_ENDS = "。！？｡"  # need no space after them
WIDE_CLOSING = CLOSING + "」』）】》〉"
BEFORE = 24  # characters to examine before an end

INITIALS = r"(?:[^\W\d_]\.){0,4}[^\W\d_]"  # J. (an initial), e.g., z.B., U.S.A.
LAST_WORD = r"[\w.]*\Z"
NUMBERING = r"(?:^|\n)[ \t>*_]*\d{1,9}\.$"  # of a list item
DAY = r"(?:^|\D)\d{1,2}\.$"
MONTH = 3  # characters of a month's name that tell it
FIRST_CHARACTER = r"[\s>*_\"'“„‘«(\[`#~-]{0,16}"


def ends_sentence(text: str, end: int) -> bool:
    """Whether text[:end] ends with a sentence: not if the next word is in lower case."""
    before = text[max(end - BEFORE, 0) : end].rstrip(WIDE_CLOSING)
    last = before[-1:]
    if not last or last not in ENDS:
        return last != "" and last in WIDE_ENDS
    signs = pattern(FIRST_CHARACTER).match(text, end)
    assert signs  # the pattern matches anywhere
    after = text[signs.end() : signs.end() + 3]
    if after[:1].islower():
        return False
    return last != "." or not (
        _is_abbreviation(before, is_before_number=after[:1].isdigit())
        or pattern(NUMBERING).search(before)
        or (after in _months_behind_points() and pattern(DAY).search(before))
    )


def _is_abbreviation(text: str, *, is_before_number: bool) -> bool:
    """Whether the last word of a text, without its full stop, is an abbreviation."""
    last = pattern(LAST_WORD).search(text[:-1])
    word = folded(last[0]) if last else ""
    return (
        word in words("abbreviations")
        or (is_before_number and word in words("abbreviations_before_numbers"))
        or pattern(INITIALS).fullmatch(word) is not None
    )


@cache
def _months_behind_points() -> frozenset[str]:
    """The beginnings of the names of months in languages that write "5. March"."""
    return frozenset(
        name[:MONTH]
        for code, language in languages().items()
        if "." in language.get("ordinals", ())
        for name in full_names("months", code)
    )
