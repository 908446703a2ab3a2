"""Read a page of HTML as markdown: headings, lists, tables, code and links. A paragraph is one line.

The elements are those of the HTML standard. Scripts, styles and navigation are left out.
"""

import re
from html.parser import HTMLParser
from typing import Any

from ...storage.prepared import Extract
from ...text.characters import marked_encoding, text_of_bytes
from .blocks import (
    DEEPEST_LIST,
    END_OF_CODE,
    Block,
    cell,
    extract_of,
    link,
    list_of,
    paragraph,
    table_lines,
)

# The encoding is declared within the first bytes of a page.
ENCODING = re.compile(r"(?:charset|encoding) ?= ?[\"']?([\w:.-]{2,40})", re.IGNORECASE)
HEAD = 2048  # bytes
BLOCKS = frozenset(
    "address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer"
    " form header hr html legend main ol p section summary td th tr ul".split()
)
LEFT_OUT = frozenset("script style nav svg template noscript math object select datalist".split())
MAIN_PARTS = ("main", "article")
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
DEEPEST_QUOTE = 4
METADATA = {
    "author": "author", "description": "description", "keywords": "tags", "date": "created",
    "dc.date": "created", "article:published_time": "created", "article:modified_time": "modified",
}  # fmt: skip


def extract(data: bytes) -> Extract:
    """Extract the text and the metadata of a page. If the page marks its main part, everything
    around it is left out, such as menus, teasers and footers.
    """
    page = Page(decoded(data))
    return extract_of(page.main_blocks(), page.metadata())


def decoded(data: bytes) -> str:
    """Decode a page by its byte order mark, its declared encoding, or as UTF-8.

    A declaration that can be read as ASCII cannot be in UTF-16, so it means UTF-8 (WHATWG Encoding,
    "prescan a byte stream").
    """
    if marked_encoding(data):
        return text_of_bytes(data)
    declared = ENCODING.search(data[:HEAD].decode("latin-1"))
    if declared and not declared[1].lower().startswith("utf-16"):
        try:
            return data.decode(declared[1])
        except (LookupError, ValueError):
            pass
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


class Page(HTMLParser):
    """Collects the blocks of a page in their order. End tags may be missing or superfluous."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self._inline: list[str] = []  # of the current block
        self._left_out: list[str] = []  # open elements that are left out
        self._lists: list[str] = []  # open lists, the innermost last
        self._item = ""  # the mark of the current list item
        self._level = 0  # of the current heading
        self._quotes = 0
        self._code = 0
        self._is_in_table = False
        self._rows: list[list[str]] = []
        self._link: tuple[int, str] | None = None  # start of the open link, and its target
        self._title: list[str] | None = None
        self._metadata: dict[str, str] = {}
        # The number of open elements of each kind, and the blocks of the outermost ones
        self._open_parts = dict.fromkeys(MAIN_PARTS, 0)
        self._parts: dict[str, list[slice]] = {tag: [] for tag in MAIN_PARTS}
        self.feed(text)
        self.close()
        self._end_title()
        self._end_table()
        self._flush()

    def main_blocks(self) -> list[Block]:
        """The blocks of the only `<main>`, or else of the only `<article>` with an `<h1>`; all
        blocks if the page has no such part, or several.
        """
        mains, articles = ([self.blocks[part] for part in self._parts[tag]] for tag in MAIN_PARTS)
        for parts in (list(filter(None, mains)), list(filter(_has_title, articles))):
            if len(parts) == 1:
                return parts[0]
        return self.blocks

    def parse_html_declaration(self, i: int) -> int:
        """Skip any `<!`: with an unknown word, older versions of Python give up."""
        return self.parse_bogus_comment(i)

    def metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = dict(self._metadata)
        metadata["title"] = " ".join("".join(self._title or []).split())
        metadata["tags"] = list_of(self._metadata.get("tags", ""))
        return metadata

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "meta":
            self._add_metadata(given)
        elif tag in LEFT_OUT:
            self._left_out.append(tag)
        elif self._left_out:
            pass
        elif tag == "title" and self._title is None:
            self._flush()
            self._title = []
        elif self._is_in_table and not (tag in HEADINGS or tag in ("pre", "table", *MAIN_PARTS)):
            self._begin_in_table(tag, given)
        else:
            self._dissolve_table()
            self._begin(tag, given)

    def _begin_in_table(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "tr":
            self._end_cell()
            self._rows.append([])
        elif tag in ("td", "th") and self._rows:
            self._end_cell()
            self._rows[-1].append("")
        elif tag == "a":
            self._begin_link(given)
        else:
            self._inline.append(" ")

    def _begin(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "br":
            self._inline.append("\n")
        elif tag == "img":
            self._inline.append(given.get("alt") or "")
        elif tag == "a":
            self._begin_link(given)
        elif tag == "table":
            self._flush()
            self._is_in_table = True
        elif tag == "pre":
            self._flush()
            self._code += 1
        elif tag in HEADINGS:
            self._flush()
            self._level = int(tag[1])
        elif tag == "li":
            self._flush()
            is_ordered = self._lists[-1:] == ["ol"]
            depth = min(max(len(self._lists) - 1, 0), DEEPEST_LIST)
            self._item = "  " * depth + ("1. " if is_ordered else "- ")
        elif tag in BLOCKS:
            self._flush()
            if tag in ("ul", "ol"):
                self._lists.append(tag)
            self._quotes += tag == "blockquote"
            if tag in MAIN_PARTS:
                self._begin_part(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._left_out:
            if tag in self._left_out:
                del self._left_out[self._left_out.index(tag) :]
        elif tag == "a":
            self._end_link()
        elif tag == "title":
            self._end_title()
        elif tag == "table":
            self._end_table()
        elif self._is_in_table:
            self._inline.append(" ")
        elif tag == "pre" or tag in HEADINGS or tag == "li" or tag in BLOCKS:
            self._flush()
            if tag == "pre" and self._code:
                self._code -= 1
                self.blocks.append(END_OF_CODE)
            self._quotes -= self._quotes > 0 and tag == "blockquote"
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
            if tag in MAIN_PARTS:
                self._end_part(tag)

    def handle_data(self, data: str) -> None:
        if not self._left_out:
            self._inline.append(data)

    def _add_metadata(self, given: dict[str, str | None]) -> None:
        name = (given.get("name") or given.get("property") or "").lower()
        if name in METADATA:
            self._metadata.setdefault(
                METADATA[name], " ".join((given.get("content") or "").split())
            )

    def _end_title(self) -> None:
        if self._title == []:
            self._title = [*self._inline, " "]
            self._inline = []

    def _begin_part(self, tag: str) -> None:
        if self._open_parts[tag] == 0:
            self._parts[tag].append(slice(len(self.blocks), None))
        self._open_parts[tag] += 1

    def _end_part(self, tag: str) -> None:
        self._open_parts[tag] = max(self._open_parts[tag] - 1, 0)
        if self._open_parts[tag] == 0 and self._parts[tag] and self._parts[tag][-1].stop is None:
            self._parts[tag][-1] = slice(self._parts[tag][-1].start, len(self.blocks))

    def _begin_link(self, given: dict[str, str | None]) -> None:
        self._link = len(self._inline), given.get("href") or ""  # links do not nest

    def _end_link(self) -> None:
        if self._link is None:
            return
        begin, target = self._link
        self._link = None
        text = " ".join("".join(self._inline[begin:]).split())
        shown = link(text, target)
        if shown != text and not self._code:
            lead = ""
            if "".join(self._inline[begin : begin + 1])[:1].isspace():
                lead = " "
            self._inline[begin:] = [lead + shown]

    def _end_cell(self) -> None:
        text = "".join(self._inline)
        self._inline = []
        self._link = None
        if self._rows and self._rows[-1]:
            self._rows[-1][-1] = cell(text)
        elif text.strip():  # a caption
            self.blocks.append(("text", paragraph(text)))

    def _end_table(self) -> None:
        if not self._is_in_table:  # or it was turned into paragraphs
            self._flush()
            return
        self._end_cell()
        rows = list(table_lines([row for row in self._rows if any(row)]))
        if rows:
            self.blocks.append(("table", rows))
        self._rows = []
        self._is_in_table = False

    def _dissolve_table(self) -> None:
        """Turn the cells read so far into paragraphs: a table that contains headings, code or
        tables is only layout.
        """
        if not self._is_in_table:
            return
        self._end_cell()
        for text in (text for row in self._rows for text in row):
            if text:
                self.blocks.append(("text", paragraph(text.replace("\\|", "|"))))
        self._rows = []
        self._is_in_table = False

    def _flush(self) -> None:
        """End the current block."""
        text = "".join(self._inline)
        self._inline = []
        self._link = None
        if self._code:
            if text:
                self.blocks.append(("code", text.strip("\n").split("\n")))
            return
        if not text.strip():
            return
        if self._level:
            self.blocks.append(("text", [f"{'#' * self._level} {' '.join(text.split())}"]))
            self._level = 0
        elif self._item:
            self.blocks.append(("list", [self._item + " ".join(text.split())]))
            self._item = ""
        else:
            quote = "> " * min(self._quotes, DEEPEST_QUOTE)
            self.blocks.append(("text", [quote + line for line in paragraph(text)]))


def _has_title(blocks: list[Block]) -> bool:
    return any(kind == "text" and lines[0].startswith("# ") for kind, lines in blocks)
