"""The text of a DOCX file as markdown: headings, lists, tables, code and footnotes. Runs in the
process of worker.py.

The elements are those of ECMA-376, part 1, WordprocessingML. A paragraph is one line. Deleted text
of tracked changes, comments, headers and footers are left out.
"""

import re
import zlib
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from typing import Any
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from ...documents.document import MAX_TEXT, Extract, ExtractError

MAX_XML = 50_000_000  # bytes of a part when it is unpacked
W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# The same elements, as ISO 29500 Strict names them
STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
OFFICE_DOCUMENT = "/relationships/officeDocument"
CORE = {
    "title": "{http://purl.org/dc/elements/1.1/}title",
    "author": "{http://purl.org/dc/elements/1.1/}creator",
    "subject": "{http://purl.org/dc/elements/1.1/}subject",
    "description": "{http://purl.org/dc/elements/1.1/}description",
    "tags": "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}keywords",
    "created": "{http://purl.org/dc/terms/}created",
    "modified": "{http://purl.org/dc/terms/}modified",
}
HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
CODE = re.compile(
    r"source ?code|(?:html )?preformatted|code|verbatim|plain text|listing", re.IGNORECASE
)
LEFT_OUT = {
    "del",
    "moveFrom",
    "instrText",
    "delText",
    "Fallback",
    "pPr",
    "rPr",
    "commentReference",
    "pict",
}
DAY = len("2026-01-05")


def extract(data: bytes) -> Extract:
    """Raises ExtractError for a file that is not a DOCX, is damaged or encrypted, or is too large
    when unpacked.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ExtractError(
            "it is encrypted, or an old .doc; save it as .docx without a password", "encrypted"
        )
    try:
        document = Document(ZipFile(BytesIO(data)))
        text = "\n".join(document.lines()) + "\n"
    except (
        BadZipFile,
        zlib.error,
        ElementTree.ParseError,
        KeyError,
        ValueError,
        RuntimeError,
        EOFError,
        OSError,
    ) as error:
        raise ExtractError(f"it cannot be read as a DOCX ({error})", "damaged") from error
    if len(text) > MAX_TEXT:
        raise ExtractError(f"its text has over {MAX_TEXT:,} characters", "size")
    return Extract(text, [], document.metadata(), None if text.strip() else "it has no text")


class Document:
    """The parts of a file, and what its styles, lists and links say."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._names = set(archive.namelist())
        main = next(
            (
                target
                for kind, target in self._relations("_rels/.rels").values()
                if kind.endswith(OFFICE_DOCUMENT)
            ),
            "",
        )
        self._main = main.lstrip("/") or "word/document.xml"
        self._folder = self._main.rpartition("/")[0]
        links = self._relations(f"{self._folder}/_rels/{self._main.rpartition('/')[2]}.rels")
        self._links = {
            id: target for id, (kind, target) in links.items() if kind.endswith("/hyperlink")
        }
        self._styles = {
            _value(style, "styleId"): style for style in self._all("styles.xml", "style")
        }
        self._ordered = self._ordered_lists()
        self._notes: list[tuple[str, str]] = []  # kind and id, in the order of the references
        self._title = ""

    def lines(self) -> Iterator[str]:
        """The lines of the text, with empty ones between paragraphs."""
        body = self._parse(self._main).find(f"{W}body")
        if body is None:
            raise ValueError("no body")
        yield from _spaced(self._blocks(body))
        for number, (kind, id) in enumerate(self._notes, 1):
            note = next((n for n in self._all(f"{kind}s.xml", kind) if _value(n, "id") == id), None)
            text = (
                " ".join(self._inline(p) for p in note.iter(f"{W}p")).strip()
                if note is not None
                else ""
            )
            yield from ("", f"[^{number}]: {text}") if text else ()

    def metadata(self) -> dict[str, Any]:
        """The properties of the file; the paragraph that is styled as the title is it if the
        properties have none.
        """
        found: dict[str, Any] = {}
        if "docProps/core.xml" in self._names:
            core = self._parse("docProps/core.xml")
            found = {
                key: " ".join((core.findtext(name) or "").split()) for key, name in CORE.items()
            }
        found["title"] = found.get("title") or self._title
        found["tags"] = [
            tag for tag in map(str.strip, re.split("[,;]", found.get("tags", ""))) if tag
        ]
        found |= {key: found[key][:DAY] for key in ("created", "modified") if key in found}
        return {key: value for key, value in found.items() if value}

    def _blocks(self, parent: ElementTree.Element) -> Iterator[tuple[str, list[str]]]:
        """The kind of each block, "text", "list", "code" or "table", and its lines."""
        for element in parent:
            name = _name(element)
            if name == "p":
                yield from self._paragraph(element)
            elif name == "tbl":
                if rows := list(self._table(element)):
                    yield "table", rows
            elif name not in LEFT_OUT and name != "sectPr":  # content controls, inserted blocks
                yield from self._blocks(element)

    def _paragraph(self, element: ElementTree.Element) -> Iterator[tuple[str, list[str]]]:
        text = self._inline(element)
        properties = element.find(f"{W}pPr")
        level, kind = self._style(properties)
        if kind == "code":
            yield "code", text.split("\n")
        elif not text.strip():
            return
        elif level:
            title = " ".join(text.split())
            if kind == "title":
                self._title = self._title or title
            yield "text", [f"{'#' * min(level, 6)} {title}"]
        else:
            number = properties.find(f"{W}numPr") if properties is not None else None
            if number is not None and _of(number, "numId") != "0":
                depth = min(int(_of(number, "ilvl") or 0), 8)
                bullet = "1." if (_of(number, "numId"), str(depth)) in self._ordered else "-"
                yield "list", ["  " * depth + f"{bullet} " + " ".join(text.split())]
            else:
                lines = [" ".join(line.split()) for line in text.strip().split("\n")]
                yield (
                    "text",
                    [
                        f"    {line}" if re.match(r"#{1,6}(?:\s|$)|```|~~~", line) else line
                        for line in lines
                    ],
                )
        for box in element.iter(f"{W}txbxContent"):
            yield from self._blocks(box)

    def _style(self, properties: ElementTree.Element | None) -> tuple[int, str]:
        """The level of a heading, or 0, and "title", "code" or ""."""
        if properties is None:
            return 0, ""
        level, id = _of(properties, "outlineLvl"), _of(properties, "pStyle")
        for _ in range(10):  # a style may be based on another
            style = self._styles.get(id)
            if style is None:
                break
            name = _of(style, "name")
            if found := HEADING.fullmatch(name):
                return int(found[1]), ""
            if name.lower() == "title":
                return 1, "title"
            if CODE.fullmatch(name):
                return 0, "code"
            own = style.find(f"{W}pPr")
            level = level or (_of(own, "outlineLvl") if own is not None else "")
            id = _of(style, "basedOn")
        return (int(level) + 1 if level.isdigit() and int(level) < 9 else 0), ""

    def _inline(self, element: ElementTree.Element) -> str:
        parts: list[str] = []
        for child in element:
            name = _name(child)
            if name in LEFT_OUT or name == "txbxContent":
                continue
            if name == "t":
                parts.append(child.text or "")
            elif name == "tab":
                parts.append("\t")
            elif name in ("br", "cr"):
                parts.append("\n")
            elif name == "noBreakHyphen":
                parts.append("-")
            elif name in ("footnoteReference", "endnoteReference"):
                self._notes.append((name.removesuffix("Reference"), _value(child, "id")))
                parts.append(f"[^{len(self._notes)}]")
            elif name == "hyperlink":
                text, target = self._inline(child), self._links.get(child.get(f"{R}id", ""), "")
                parts.append(
                    f"[{text}]({target})" if target and text.strip() and target != text else text
                )
            else:
                parts.append(self._inline(child))
        return "".join(parts)

    def _table(self, table: ElementTree.Element) -> Iterator[str]:
        """The rows of a table; the first one is its header. A cell over several columns or rows
        stands in the first of them.
        """
        rows = [
            [text for cell in _children(row, "tc") for text in self._cell(cell)]
            for row in _children(table, "tr")
        ]
        rows = [row for row in rows if any(row)]
        width = max(map(len, rows), default=0)
        for number, row in enumerate(rows):
            yield f"| {' | '.join([*row, *[''] * (width - len(row))])} |"
            if number == 0:
                yield "|" + "---|" * width

    def _cell(self, cell: ElementTree.Element) -> list[str]:
        properties = cell.find(f"{W}tcPr")
        merged = properties.find(f"{W}vMerge") if properties is not None else None
        is_continued = merged is not None and _value(merged, "val") in ("", "continue")
        text = " ".join(
            " ".join(self._inline(p) for p in cell.findall(f".//{W}p")).split()
        ).replace("|", "\\|")
        span = int(_of(properties, "gridSpan") or 1) if properties is not None else 1
        return ["" if is_continued else text, *[""] * min(span - 1, 100)]

    def _ordered_lists(self) -> set[tuple[str, str]]:
        """The numbered levels: id of the list, and level."""
        abstract = {
            _value(each, "abstractNumId"): {
                _value(level, "ilvl")
                for level in each.findall(f"{W}lvl")
                if _of(level, "numFmt") not in ("bullet", "none", "")
            }
            for each in self._all("numbering.xml", "abstractNum")
        }
        numbers = (
            (_value(each, "numId"), _of(each, "abstractNumId"))
            for each in self._all("numbering.xml", "num")
        )
        return {(id, level) for id, of in numbers for level in abstract.get(of, ())}

    def _all(self, part: str, name: str) -> list[ElementTree.Element]:
        path = f"{self._folder}/{part}"
        return list(self._parse(path).iter(W + name)) if path in self._names else []

    def _relations(self, path: str) -> dict[str, tuple[str, str]]:
        found = self._parse(path) if path in self._names else ()
        return {
            each.get("Id", ""): (each.get("Type", ""), each.get("Target", "")) for each in found
        }

    def _parse(self, path: str) -> ElementTree.Element:
        with self._archive.open(path) as part:
            data = (
                b"".join(iter(partial(part.read, 1_000_000), b""))
                if self._size(path) <= MAX_XML
                else b""
            )
        if not data:
            raise ExtractError(f"{path} has over {MAX_XML:,} bytes when it is unpacked", "size")
        if b"<!DOCTYPE" in data[:1000]:
            raise ValueError(f"{path} declares a document type")
        return ElementTree.fromstring(data.replace(STRICT, W[1:-1].encode()))

    def _size(self, path: str) -> int:
        return self._archive.getinfo(path).file_size


def _children(parent: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    """The rows or cells in a table or row, also those that a content control or an insertion is
    around.
    """
    for child in parent:
        if _name(child) == name:
            yield child
        elif _name(child) in ("sdt", "sdtContent", "ins", "customXml"):
            yield from _children(child, name)


def _spaced(blocks: Iterator[tuple[str, list[str]]]) -> Iterator[str]:
    """The lines of the blocks: items of a list and lines of code stand together, everything else an
    empty line apart.
    """
    before = ""
    for kind, lines in blocks:
        goes_on = kind == before and kind in ("list", "code")
        if before == "code" and not goes_on:
            yield "```"
        if before and not goes_on:
            yield ""
        if kind == "code" and not goes_on:
            yield "```"
        yield from lines
        before = kind
    if before == "code":
        yield "```"


def _name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]


def _value(element: ElementTree.Element, name: str) -> str:
    return element.get(W + name, "")


def _of(parent: ElementTree.Element, name: str) -> str:
    """The value of a child."""
    child = parent.find(W + name)
    return "" if child is None else _value(child, "val")
