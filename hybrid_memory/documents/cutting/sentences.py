"""Tell whether a sentence ends at a place in a text: 'z.B. Dr. Smith of the U.S. paid 3.5 for v1.2.3.' is one sentence."""

import re

CLOSING = "\"'”’»)]}*_`"
ENDS, WIDE_ENDS = ".!?…؟۔।", "。！？｡"  # the wide ones need no space after them
WIDE_CLOSING = CLOSING + "」』）】》〉"
BEFORE = 24  # characters that are looked at

ABBREVIATION = re.compile(
    r"(?:^|[^\w.])(?:(?:[^\W\d_]\.){0,4}[^\W\d_]"  # J. (an initial), e.g., z.B., U.S.A.
    r"|al|approx|bzgl|bzw|ca|cf|dr|eig|evtl|geb|ggf|ggü|hr|fr|inkl|exkl|mind|max|min|mio|mr|mrs|ms|mt|prof|resp|sog|st|str|usf"
    r"|viz|vgl|vs|zzgl|gen|gov|sen|rep|capt|col|lt|sgt|rev|hon|incl|excl|est|dept)\.$",
    re.IGNORECASE,
)
BEFORE_NUMBER = re.compile(
    r"(?:^|[^\w.])(?:nos?|nr|figs?|pp?|abb|vol|ch|chap|sec|eqs?|art|abs|bd|kap|tel|ed|ver|ref|tab|line|ln|ziff|anm)\.$",
    re.IGNORECASE,
)
NUMBERING = re.compile(r"(?:^|\n)[ \t>*_]*\d{1,9}\.$")  # of a list item
DAY = re.compile(r"(?:^|\D)\d{1,2}\.$")
MONTH = re.compile(r"Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez")
FIRST_CHARACTER = re.compile(r"[\s>*_\"'“„‘«(\[`#~-]{0,16}")


def ends_sentence(text: str, end: int) -> bool:
    """Whether text[:end] ends with a sentence. If the next word is in lower case, the answer is no."""
    before = text[max(end - BEFORE, 0) : end].rstrip(WIDE_CLOSING)
    last = before[-1:]
    if not last or last not in ENDS:
        return last != "" and last in WIDE_ENDS
    first = FIRST_CHARACTER.match(text, end).end()  # type: ignore[union-attr]  # it matches anywhere
    after = text[first : first + 3]
    if after[:1].islower():
        return False
    if last != ".":
        return True
    return not (
        ABBREVIATION.search(before)
        or NUMBERING.search(before)
        or (after[:1].isdigit() and BEFORE_NUMBER.search(before))
        or (MONTH.match(after) and DAY.search(before))
    )
