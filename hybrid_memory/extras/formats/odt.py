"""Read an OpenDocument text as markdown: headings, lists, tables, code, links and footnotes. A
paragraph is one line.

The elements are those of OpenDocument 1.3.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from ...storage.prepared import Extract
from .blocks import DEEPEST_LIST, Block, cell, extract_of, link, paragraph, table_lines
from .extracted import ExtractError
from .zipped_xml import DC, local_name, on_a_line, part, properties_of, read_as, root_of

OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
META = "{urn:oasis:names:tc:opendocument:xmlns:meta:1.0}"
LINK = "{http://www.w3.org/1999/xlink}href"
MANIFEST = "META-INF/manifest.xml"
PROPERTIES = {
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


def extract(data: bytes) -> Extract:
    """Extract the text and the properties of an OpenDocument text.

    Raises ExtractError for another file, and for one that is damaged, encrypted or too large when
    unpacked.
    """
    metadata: dict[str, Any] = {}
    with read_as("an ODT"):
        archive = ZipFile(BytesIO(data))
        names = archive.namelist()
        if MANIFEST in names and b"encryption-data" in part(archive, MANIFEST):
            raise ExtractError("it is encrypted; save it without a password", "encrypted")
        document = _Document(root_of(part(archive, "content.xml")))
        blocks = list(document.blocks())
        if "meta.xml" in names:
            metadata = _properties(root_of(part(archive, "meta.xml")))
    metadata["title"] = metadata.get("title") or document.title
    return extract_of(blocks, metadata)


def _properties(root: ElementTree.Element) -> dict[str, Any]:
    properties: dict[str, Any] = dict(properties_of(root, PROPERTIES))
    properties["tags"] = [on_a_line(tag.text) for tag in root.iter(f"{META}keyword")]
    return properties


class _Document:
    """The text of an OpenDocument, with its styles."""

    def __init__(self, root: ElementTree.Element) -> None:
        self._root = root
        self._parents = {}  # the named style that an automatic style is based on
        self._ordered = set()  # numbered lists
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
        """Yield the blocks of the body, and the notes. Raises ValueError if the file has no text."""
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
                level = int(element.get(f"{TEXT}outline-level", "1"))
                if title:
                    yield "text", [f"{'#' * min(level, 6)} {title}"]
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
            yield "text", [line for row in text.strip().split("\n") for line in paragraph(row)]

    def _items(self, parent: ElementTree.Element, depth: int, style: str) -> Iterator[str]:
        """Yield the items of a list; items of inner lists are indented."""
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
                row = [cell(" ".join(map(self._inline, each))) for each in element]
                if any(row):
                    yield row

    def _inline(self, element: ElementTree.Element) -> str:
        parts = [_with_single_spaces(element.text)]
        for child in element:
            name = local_name(child)
            if name in ("s", "tab"):
                parts.append(" ")
            elif name == "line-break":
                parts.append("\n")
            elif name == "note":
                parts.append(self._note(child))
            elif name == "a":
                parts.append(link(self._inline(child), child.get(LINK, "")))
            elif name not in NO_TEXT:
                parts.append(self._inline(child))
                parts.append(" " if name in ("p", "h") else "")
            parts.append(_with_single_spaces(child.tail))
        return "".join(parts)

    def _note(self, note: ElementTree.Element) -> str:
        number = len(self._notes)
        self._notes.append("")
        body = note.find(f"{TEXT}note-body")
        if body is not None:
            self._notes[number] = " ".join(self._inline(body).split())
        return f"[^{number + 1}]"


def _with_single_spaces(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "")
