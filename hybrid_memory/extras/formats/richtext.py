"""Read HTML, EPUB and ODT as markdown: headings, lists, tables, code, links and footnotes. A
paragraph is one line.

The elements are those of the HTML standard, of EPUB 3.3 (packages of XHTML, read as HTML) and of
OpenDocument 1.3. Scripts, styles and navigation are left out. Every part of a package is read once;
what is malformed beside the text costs its own content, never the document.
"""

import codecs
import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from ...documents.document import Extract
from .docx import (
    DAY,
    DEEPEST_LIST,
    END_OF_CODE,
    LIKE_MARKDOWN_MARK,
    MAX_XML,
    UNREADABLE,
    local_name,
    part,
    root_of,
    spaced,
    table_lines,
)
from .extracted import MAX_TEXT, ExtractError

# Only what stands at the beginning of a page may say in which encoding it is.
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
# To its >, or to the end of the page. Quotes count behind = alone. Nothing is tried twice.
START_TAG = re.compile(r"""<[a-zA-Z](?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+>?""")
WEB = re.compile(r"(?:https?:|mailto:|[^:]*\Z)", re.IGNORECASE)

Block = tuple[str, list[str]]


def html(data: bytes) -> Extract:
    """Extract the text and the metadata of a page. If the page marks its main part, what stands
    around it is left out: menus, teasers, footers.
    """
    page = _Page(_decoded(data))
    return _extract(page.main_blocks(), page.metadata())


def _decoded(data: bytes) -> str:
    """Return the text of a page, by its byte order mark, what it says at its beginning, or UTF-8."""
    for mark, encoding in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    said = ENCODING.search(data[:HEAD].decode("latin-1"))
    if said:
        try:
            return data.decode(said[1])
        except (LookupError, ValueError):
            pass
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


class _Page(HTMLParser):
    """Blocks of a page, in its order. A page may close what it has not opened, and the reverse.

    What has no end is read once, where older Pythons begin again at the next <.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.blocks: list[Block] = []
        self._inline: list[str] = []  # of the block that is being read
        self._left_out: list[str] = []  # open elements whose text is none
        self._lists: list[str] = []  # open ones, the innermost last
        self._item = ""  # the mark of the item that is being read
        self._level = 0  # of the heading that is being read
        self._quotes = 0
        self._code = 0
        self._is_in_table = False
        self._rows: list[list[str]] = []
        self._link: tuple[int, str] | None = None  # where the open one begins, and where it leads
        self._title: list[str] | None = None
        self._said: dict[str, str] = {}
        # How many of each are open, and which blocks the outermost have
        self._open_parts = dict.fromkeys(MAIN_PARTS, 0)
        self._parts: dict[str, list[slice]] = {tag: [] for tag in MAIN_PARTS}
        self.feed(text)
        self.close()
        self._end_title()
        self._end_table()
        self._flush()

    def main_blocks(self) -> list[Block]:
        """Return the blocks of the only `<main>`, or else of the only `<article>` with an `<h1>`;
        all blocks if there is no such part, or more than one.
        """
        mains, articles = ([self.blocks[part] for part in self._parts[tag]] for tag in MAIN_PARTS)
        for parts in (list(filter(None, mains)), list(filter(_has_title, articles))):
            if len(parts) == 1:
                return parts[0]
        return self.blocks

    def check_for_whole_start_tag(self, i: int) -> int:
        tag = START_TAG.match(self.rawdata, i)
        return tag.end() if tag else i + 1

    def parse_endtag(self, i: int) -> int:
        return self._end(super().parse_endtag(i))

    def parse_pi(self, i: int) -> int:
        return self._end(super().parse_pi(i))

    def parse_comment(self, i: int, report: bool = True) -> int:
        return self._end(super().parse_comment(i, report))

    def parse_html_declaration(self, i: int) -> int:
        if self.rawdata.startswith("<![", i):
            return self._end(self.parse_bogus_comment(i))
        return self._end(super().parse_html_declaration(i))

    def _end(self, found: int) -> int:
        return found if found >= 0 else len(self.rawdata)

    def metadata(self) -> dict[str, Any]:
        """Return what the page says of itself."""
        metadata: dict[str, Any] = {key: value for key, value in self._said.items() if value}
        title = " ".join("".join(self._title or []).split())
        if title:
            metadata["title"] = title
        for key in ("created", "modified"):
            if key in metadata:
                metadata[key] = metadata[key][:DAY]
        if "tags" in metadata:
            tags = re.split("[,;]", metadata["tags"])
            metadata["tags"] = [tag.strip() for tag in tags if tag.strip()]
        return metadata

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "meta":
            self._say(given)
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
            self._melt()
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

    def _say(self, given: dict[str, str | None]) -> None:
        name = (given.get("name") or given.get("property") or "").lower()
        if name in METADATA:
            self._said.setdefault(METADATA[name], " ".join((given.get("content") or "").split()))

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
        self._link = len(self._inline), given.get("href") or ""  # there is no link in a link

    def _end_link(self) -> None:
        if self._link is None:
            return
        begin, target = self._link
        self._link = None
        text = " ".join("".join(self._inline[begin:]).split())
        target = "".join(target.split())
        leads_away = target and not target.startswith("#") and WEB.match(target)
        if text and leads_away and target != text and not self._code:
            lead = ""
            if "".join(self._inline[begin : begin + 1])[:1].isspace():
                lead = " "
            self._inline[begin:] = [f"{lead}[{text}]({target})"]

    def _end_cell(self) -> None:
        text = "".join(self._inline)
        self._inline = []
        self._link = None
        if self._rows and self._rows[-1]:
            self._rows[-1][-1] = _cell(text)
        elif text.strip():  # a caption
            self.blocks.append(("text", _paragraph(text)))

    def _end_table(self) -> None:
        if not self._is_in_table:  # or it was melted
            self._flush()
            return
        self._end_cell()
        rows = list(table_lines([row for row in self._rows if any(row)]))
        if rows:
            self.blocks.append(("table", rows))
        self._rows = []
        self._is_in_table = False

    def _melt(self) -> None:
        """Take the table for one that only arranges a page: with a heading, code or a table in it."""
        if not self._is_in_table:
            return
        self._end_cell()
        for text in (text for row in self._rows for text in row):
            if text:
                self.blocks.append(("text", _paragraph(text.replace("\\|", "|"))))
        self._rows = []
        self._is_in_table = False

    def _flush(self) -> None:
        """End the block that is being read."""
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
            self.blocks.append(("text", [quote + line for line in _paragraph(text)]))


def _has_title(blocks: list[Block]) -> bool:
    return any(kind == "text" and lines[0].startswith("# ") for kind, lines in blocks)


def _paragraph(text: str) -> list[str]:
    """Return a paragraph as one line that is not like a mark of markdown."""
    words = " ".join(text.split())
    return [f"    {words}" if LIKE_MARKDOWN_MARK.match(words) else words]


def _on_a_line(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _extract(
    blocks: list[Block], metadata: dict[str, Any], damaged: list[str] | None = None
) -> Extract:
    """Return the blocks as a text. Raises ExtractError for one that is too long."""
    text = "\n".join(spaced(iter(blocks))) + "\n"
    if len(text) > MAX_TEXT:
        raise ExtractError(f"its text has over {MAX_TEXT:,} characters", "size")
    warnings = []
    if not text.strip():
        warnings.append(("it has no text", "no text"))
    if damaged:
        parts = ", ".join(damaged)
        warnings.append((f"what these parts of it say is left out: {parts}", "damaged part"))
    return Extract(text, [], metadata, warnings)


CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
OPF = "{http://www.idpf.org/2007/opf}"
DC = "{http://purl.org/dc/elements/1.1/}"
OF_BOOK = {
    "title": f"{DC}title",
    "author": f"{DC}creator",
    "description": f"{DC}description",
    "created": f"{DC}date",
}


def epub(data: bytes) -> Extract:
    """Return the text of a book, chapter by chapter, and what it says of itself.

    Raises ExtractError for a file that is not an EPUB, is damaged or encrypted, or is too large when
    unpacked.
    """
    try:
        archive = ZipFile(BytesIO(data))
        container = root_of(part(archive, CONTAINER))
        files = [element.get("full-path", "") for element in container.iter()]
        place = next(filter(None, files), "")
        package = root_of(part(archive, place))
        chapters = _chapters(package, dirname(place))
        _refuse_encrypted(archive, chapters)
        blocks, damaged = _of_chapters(archive, chapters)
    except RecursionError as error:
        raise ExtractError("its elements are nested too deeply", "damaged") from error
    except UNREADABLE as error:
        raise ExtractError(f"it cannot be read as an EPUB ({error})", "damaged") from error
    metadata = _found(package, OF_BOOK)
    subjects = [_on_a_line(subject.text).strip() for subject in package.iter(f"{DC}subject")]
    metadata["tags"] = [subject for subject in subjects if subject]
    return _extract(blocks, _filled(metadata), damaged)


def _chapters(package: ElementTree.Element, folder: str) -> list[str]:
    """Return the paths of the chapters in their order, each once."""
    paths = {}
    for item in package.iter(f"{OPF}item"):
        href = unquote(item.get("href", "").partition("#")[0])
        if "html" in item.get("media-type", ""):
            paths[item.get("id", "")] = normpath(join(folder, href))
    references = [reference.get("idref", "") for reference in package.iter(f"{OPF}itemref")]
    return list(dict.fromkeys(paths[id] for id in references if id in paths))


def _refuse_encrypted(archive: ZipFile, chapters: list[str]) -> None:
    """Raise ExtractError if a chapter is encrypted, as books with rights management are."""
    if ENCRYPTION not in archive.namelist():
        return
    for element in root_of(part(archive, ENCRYPTION)).iter():
        if unquote(element.get("URI", "")) in chapters:
            raise ExtractError("it is encrypted", "encrypted")


def _of_chapters(archive: ZipFile, chapters: list[str]) -> tuple[list[Block], list[str]]:
    """Return the blocks of the chapters, and those that cannot be read.

    Raises ExtractError if together they are too large.
    """
    blocks: list[Block] = []
    damaged = []
    names = set(archive.namelist())
    size = 0
    for chapter in chapters:
        if chapter not in names:
            damaged.append(chapter)
            continue
        size += archive.getinfo(chapter).file_size
        if size > MAX_XML:
            raise ExtractError(f"it has over {MAX_XML:,} bytes when it is unpacked", "size")
        try:
            blocks += _Page(_decoded(part(archive, chapter))).blocks
        except UNREADABLE:
            damaged.append(chapter)
    return blocks, damaged


OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
LINK = "{http://www.w3.org/1999/xlink}href"
MANIFEST = "META-INF/manifest.xml"
OF_DOCUMENT = {
    "title": f"{DC}title",
    "author": f"{META}initial-creator",
    "subject": f"{DC}subject",
    "description": f"{DC}description",
    "created": f"{META}creation-date",
    "modified": f"{DC}date",
}
NO_TEXT = frozenset(
    "tracked-changes table-of-content sequence-decls annotation annotation-end forms".split()
)


def odt(data: bytes) -> Extract:
    """Return the text and the properties of an OpenDocument text.

    Raises ExtractError for a file that is not one, is damaged or encrypted, or is too large when
    unpacked.
    """
    try:
        archive = ZipFile(BytesIO(data))
        names = archive.namelist()
        if MANIFEST in names and b"encryption-data" in part(archive, MANIFEST):
            raise ExtractError("it is encrypted; save it without a password", "encrypted")
        document = _Document(root_of(part(archive, "content.xml")))
        blocks = list(document.blocks())
        metadata: dict[str, Any] = {}
        damaged = []
        if "meta.xml" in names:
            try:
                metadata = _properties(root_of(part(archive, "meta.xml")))
            except UNREADABLE:
                damaged.append("meta.xml")
    except RecursionError as error:
        raise ExtractError("its elements are nested too deeply", "damaged") from error
    except UNREADABLE as error:
        raise ExtractError(f"it cannot be read as an ODT ({error})", "damaged") from error
    if document.title:
        metadata.setdefault("title", document.title)
    return _extract(blocks, metadata, damaged)


def _properties(root: ElementTree.Element) -> dict[str, Any]:
    properties: dict[str, Any] = _found(root, OF_DOCUMENT)
    properties["tags"] = [_on_a_line(tag.text).strip() for tag in root.iter(f"{META}keyword")]
    return _filled(properties)


def _found(root: ElementTree.Element, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what the first element of each of these names says, of dates the day."""
    texts = {key: _on_a_line(root.findtext(f".//{name}")).strip() for key, name in names.items()}
    for key in ("created", "modified"):
        texts[key] = texts.get(key, "")[:DAY]
    return texts


def _filled(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if value}


class _Document:
    """The text of an OpenDocument, and what its styles say."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._root = root
        self._parents = {}  # the style with a name that an automatic one is based on
        self._ordered = set()  # lists with numbers
        self._notes: list[str] = []
        self.title = ""
        for style in root.iter(f"{STYLE}style"):
            self._parents[style.get(f"{STYLE}name", "")] = style.get(
                f"{STYLE}parent-style-name", ""
            )
        for style in root.iter(f"{TEXT}list-style"):
            if style.find(f"{TEXT}list-level-style-number") is not None:
                self._ordered.add(style.get(f"{STYLE}name", ""))

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the body, and the notes. Raises ValueError if there is no text."""
        body = self._root.find(f"{OFFICE}body/{OFFICE}text")
        if body is None:
            raise ValueError("no text document")
        yield from self._blocks(body)
        for number, note in enumerate(self._notes, 1):
            if note:
                yield "text", [f"[^{number}]: {note}"]

    def _blocks(self, parent: ElementTree.Element) -> Iterator[Block]:
        for element in parent:
            name = local_name(element)
            if name == "h":
                title = " ".join(self._inline(element).split())
                level = element.get(f"{TEXT}outline-level", "1")
                depth = 6
                if level in ("1", "2", "3", "4", "5", "6"):
                    depth = int(level)
                if title:
                    yield "text", [f"{'#' * depth} {title}"]
            elif name == "p":
                yield from self._paragraph(element)
            elif name == "list":
                yield "list", list(self._items(element, 0, ""))
            elif name == "table":
                rows = list(table_lines(list(self._rows(element))))
                if rows:
                    yield "table", rows
            elif name not in NO_TEXT:
                yield from self._blocks(element)

    def _paragraph(self, element: ElementTree.Element) -> Iterator[Block]:
        text = self._inline(element)
        style = element.get(f"{TEXT}style-name", "")
        style = self._parents.get(style, style)
        if style == "Preformatted_20_Text":
            yield "code", text.split("\n")
        elif style == "Title" and text.strip():
            self.title = self.title or " ".join(text.split())
            yield "text", [f"# {' '.join(text.split())}"]
        elif text.strip():
            yield "text", [line for row in text.strip().split("\n") for line in _paragraph(row)]

    def _items(self, parent: ElementTree.Element, depth: int, style: str) -> Iterator[str]:
        """Yield the items of a list, those of lists inside of it indented."""
        style = parent.get(f"{TEXT}style-name", style)
        mark = "-"
        if style in self._ordered:
            mark = "1."
        for item in parent:
            texts = []
            inner = []
            for element in item:
                if local_name(element) == "list":
                    inner.append(element)
                else:
                    texts.append(self._inline(element))
            text = " ".join(" ".join(texts).split())
            if text:
                yield "  " * min(depth, DEEPEST_LIST) + f"{mark} {text}"
            for element in inner:
                yield from self._items(element, depth + 1, style)

    def _rows(self, table: ElementTree.Element) -> Iterator[list[str]]:
        for element in table:
            name = local_name(element)
            if name in ("table-header-rows", "table-row-group", "table-rows"):
                yield from self._rows(element)
            elif name == "table-row":
                row = [_cell(" ".join(map(self._inline, cell))) for cell in element]
                if any(row):
                    yield row

    def _inline(self, element: ElementTree.Element) -> str:
        parts = [_on_a_line(element.text)]
        for child in element:
            name = local_name(child)
            if name in ("s", "tab"):
                parts.append(" ")
            elif name == "line-break":
                parts.append("\n")
            elif name == "note":
                parts.append(self._note(child))
            elif name == "a":
                parts.append(self._link(child))
            elif name not in NO_TEXT:
                parts.append(self._inline(child))
                parts.append(" " if name in ("p", "h") else "")
            parts.append(_on_a_line(child.tail))
        return "".join(parts)

    def _note(self, note: ElementTree.Element) -> str:
        number = len(self._notes)
        self._notes.append("")
        body = note.find(f"{TEXT}note-body")
        if body is not None:
            self._notes[number] = " ".join(self._inline(body).split())
        return f"[^{number + 1}]"

    def _link(self, element: ElementTree.Element) -> str:
        text = self._inline(element)
        target = "".join(element.get(LINK, "").split())
        if not target or not text.strip() or target in (text, f"#{text}") or not WEB.match(target):
            return text
        return f"[{text}]({target})"
