"""Find noise, text without meaning, that stands inside a line: data: URIs, and runs of over 200
characters without a space, such as base64, hashes and minified code. A long address keeps its
beginning, and a long list of short values (CSV) and JSON are kept, the latter without its long
strings. Text in scripts without spaces is never such a run. A removal leaves a `…`. The padding of
wide table rows is noise, too, and so are the marks of sources in answers that were pasted from a chat, and a
chunk of closing tags alone.

Rules and comments are left out by structure.py, which reads the lines. All of it takes time in
proportion to the text.
"""

import re

LONGEST_RUN = 200  # characters; the longest hash in use, SHA-512 in hexadecimal, has 128
LONGEST_VALUE = 50  # characters of a value in a list
LEFT_OUT = "…"

# Programs that align the columns of a table pad most cells, and make all rows equally long.
ALIGNED = 80  # characters; columns of longer rows are not seen below each other in a terminal
PADDING = re.compile(r"(?<=[^ ]) {2,}+(?=\|)|(?<=\|) {2,}+")
LONG_DASHES = re.compile(r"-{4,}+")
# A passage of closing tags, as in the documents of a component library, has no meaning.
CLOSING_TAGS = re.compile(r"\s*+(?:</[A-Za-z][\w.:-]*+[ \t]*+>\s*+)++")
# In an answer of a chat: "[cite_start]It opens at nine. [cite: 3, 17]"
CITE = re.compile(r"\[cite_start\]| ?\[cite: ?\d+(?:[,; -]+\d+)*+\]")
# The end of the line above a block of data about a chat, behind the speaker's label
UNTRUSTED = re.compile(r"(?:(?<=: )|^)[^:\n]*\(untrusted[^()\n]*\): *$")
DATA_URI = re.compile(
    r"data:(?:[\w.+-]{1,80}/[\w.+-]{1,80})?(?:;[\w=.+-]{1,80})*+(?<!:),[^\s)>\"'\]]*+"
)
RUN = re.compile(rf"(?<![!-~])[!-~]{{{LONGEST_RUN + 1},}}+")
LONG_LINE = re.compile(rf"\n.{{{LONGEST_RUN + 1},}}+")
JSON_SIGNS = re.compile(r'[][{},:"]+')
JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)')
JSON_WITHOUT_STRINGS = re.compile(r"(?:[][{},:]|-?\d[\d.eE+-]*+|true|false|null)*+")
ADDRESS = re.compile(r"\b[a-z]{2,9}://[^()<>\"'\]|]++")


def without_noise(body: str) -> str:
    """Remove data: URIs, unbroken runs and marks of sources from a text with a line break before each
    line.
    """
    if "[cite" in body:
        body = CITE.sub("", body)
    body = DATA_URI.sub(LEFT_OUT, body)
    return LONG_LINE.sub(lambda line: RUN.sub(_shortened, line[0]), body)


def compact_row(row: str) -> str:
    """Remove the spaces that align the columns of a table from one of its rows."""
    indentation, bar, cells = row.partition("|")
    cells = PADDING.sub(" ", bar + cells)
    if not cells.strip(" |:-"):
        cells = LONG_DASHES.sub("---", cells)
    return indentation + cells


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
    """Shorten a long 'https://example.com/page?token=...' to the part that names the page."""
    if len(address) <= LONGEST_RUN:
        return address
    return re.split("[?#;]", address[:LONGEST_RUN], maxsplit=1)[0] + LEFT_OUT


def _piece(piece: str) -> str:
    """Keep a piece that is short, a list of short values, JSON, or a table's delimiter row."""
    if len(piece) <= LONGEST_RUN or not piece.strip("-:|"):
        return piece
    is_list = piece.startswith("|") or ("{" not in piece and "(" not in piece)
    longest_value = max(map(len, re.split("[,;|]", piece)))
    if is_list and longest_value <= LONGEST_VALUE:
        return piece
    return _json(piece) or LEFT_OUT


def _json(piece: str) -> str:
    """A piece of JSON without its long strings; "" for other text, for JSON with less than a key for
    every two values, and if no value is left.
    """
    for opened in ("", '"'):  # a piece may begin in the middle of a string
        whole = opened + piece
        short = JSON_STRING.sub(_without_long_string, whole)[len(opened) :]
        keys = short.count('":')
        is_telling = keys * 2 * LONGEST_VALUE >= len(short) and keys > short.count(LEFT_OUT)
        if is_telling and JSON_WITHOUT_STRINGS.fullmatch(JSON_STRING.sub("", whole)):
            return short
    return ""


def _without_long_string(string: re.Match[str]) -> str:
    """A string of JSON, or `"…"` for a long one that is not JSON of short values itself."""
    if len(string[0]) <= LONGEST_RUN:
        return string[0]
    longest_value = max(map(len, JSON_SIGNS.split(string[0])))
    return string[0] if longest_value <= LONGEST_VALUE else f'"{LEFT_OUT}"'
