"""Leave out of a markdown text the noise, which says nothing and would fill chunks.

Noise is rules, HTML comments, data: URIs, and runs of over 200 characters without a space: base64,
hashes and minified code. A long address keeps its beginning, and a long list of short values (CSV)
stays. Text in scripts that put no spaces between words is never such a run. What is left out of the
middle of a line leaves a `…`. All of it takes time in proportion to the text. The patterns begin
with the line break before a line, for which Python searches fastest.
"""

import re
from functools import lru_cache

# CommonMark 0.31, 4.5 Fenced code blocks. A list item may begin with a fence (5.2). For use behind
# "\n {0,3}".
FENCE = r"(?P<bullet>(?:[-+*]|\d{1,9}[.)]) {1,4})?(?P<fence>`{3,}(?=[^`\n]*(?:\n|\Z))|~{3,})"


def fence_end(text: str, opening: re.Match[str]) -> int:
    """Return where the code ends: at a fence at least as long as the opening one, or else where its
    list item or the document ends.
    """
    fence = opening["fence"]
    indent = opening.start("fence") - opening.start() - 1 if opening["bullet"] else 0
    closing = rf"\n {{0,{indent + 3}}}{fence[0]}{{{len(fence)},}}+[ \t]*+(?=\n|\Z)"
    if indent:
        closing += rf"|(?=\n {{0,{indent - 1}}}\S)"
    match = re.compile(closing).search(text, opening.end())
    return match.end() if match else len(text)


LONGEST_RUN = 200  # characters; the longest hash in use, SHA-512 in hexadecimal, has 128
LONGEST_VALUE = 50  # characters of a value in a list
LOOK_BACK = 1000  # characters of a line in which code may begin
LEFT_OUT = "…"
# A run that is too long fills at least one of the pieces that begin at the multiples of this.
_STEP = LONGEST_RUN // 2

# CommonMark 0.31, 4.1 Thematic breaks
RULE = r"\n {0,3}(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)(?=\n|\Z)"
ANY_RULE = re.compile(RULE)
RULE_COMMENT_OR_FENCE = re.compile(rf"\n {{0,3}}{FENCE}|(?P<rule>{RULE})|<!--")
DATA_URI = re.compile(
    r"data:(?:[\w.+-]{1,80}/[\w.+-]{1,80})?(?:;[\w=.+-]{1,80})*+(?<!:),[^\s)>\"'\]]*+"
)
RUN = re.compile(rf"(?<![!-~])[!-~]{{{LONGEST_RUN + 1},}}+")
LONG_LINE = re.compile(rf"\n.{{{LONGEST_RUN + 1},}}+")
ADDRESS = re.compile(r"\b[a-z]{2,9}://[^()<>\"'\]|]++")


def readable(text: str, start: int = 0) -> str:
    """Return the text without the noise after `start`, the line break before a line. The number of
    lines stays the same.
    """
    return text[:start] + _readable(text[start:])


@lru_cache(1)  # a document is asked about twice: for its marks and for its chunks
def _readable(body: str) -> str:
    if "<!--" in body or ANY_RULE.search(body):
        body = _without_rules_and_comments(body)
    return without_runs(body)


def without_runs(body: str) -> str:
    """Return a text without data: URIs and unbroken runs. A line break stands before each line."""
    if "data:" in body:
        body = DATA_URI.sub(LEFT_OUT, body)
    if _has_long_run(body):
        body = LONG_LINE.sub(lambda line: RUN.sub(_shortened, line[0]), body)
    return body


def _without_rules_and_comments(text: str) -> str:
    """A comment that is not closed is text; so is what stands in code."""
    pieces: list[str] = []
    done = 0  # up to where the text is in the pieces
    pos = 0
    last_comment = text.rfind("-->")
    while mark := RULE_COMMENT_OR_FENCE.search(text, pos):
        start, pos = mark.span()
        if mark["fence"]:
            pos = fence_end(text, mark)
            continue
        if not mark["rule"]:
            if pos > last_comment or _is_in_code(text, start):
                continue
            pos = text.index("-->", pos) + len("-->")
        pieces += [text[done:start], "\n" * text.count("\n", start, pos)]
        done = pos
    return "".join([*pieces, text[done:]])


def _is_in_code(text: str, at: int) -> bool:
    earliest = max(at - LOOK_BACK, 0)
    line = text.rfind("\n", earliest, at) + 1 or earliest
    return text.count("`", line, at) % 2 == 1


def _has_long_run(text: str) -> bool:
    pieces = (text[start : start + _STEP] for start in range(0, len(text), _STEP))
    return any(" " not in piece and "\n" not in piece for piece in pieces)


def _shortened(run: re.Match[str]) -> str:
    pieces = []
    done = 0
    for address in ADDRESS.finditer(run[0]):
        pieces += [_piece(run[0][done : address.start()]), _address(address[0])]
        done = address.end()
    short = "".join([*pieces, _piece(run[0][done:])])
    after = run.string[run.end() : run.end() + 1]
    is_line = run.string[run.start() - 1] == "\n" and after in ("", "\n")
    return "" if short == LEFT_OUT and is_line else short


def _address(address: str) -> str:
    """Return 'https://example.com/page?token=...' as far as it names a page."""
    if len(address) <= LONGEST_RUN:
        return address
    return re.split("[?#;]", address[:LONGEST_RUN], maxsplit=1)[0] + LEFT_OUT


def _piece(piece: str) -> str:
    """Keep a piece that is short, a list of short values, or the line below the header of a table."""
    if len(piece) <= LONGEST_RUN or not piece.strip("-:|"):
        return piece
    is_list = piece.startswith("|") or ("{" not in piece and "(" not in piece)
    longest_value = max(map(len, re.split("[,;|]", piece)))
    return piece if is_list and longest_value <= LONGEST_VALUE else LEFT_OUT
