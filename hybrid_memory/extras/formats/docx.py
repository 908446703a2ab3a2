"""Read the text of a DOCX file as markdown: headings, lists, tables, code and footnotes.

The elements are those of ECMA-376, part 1, WordprocessingML. A paragraph is one line. Deleted text
of tracked changes, comments, headers and footers are left out.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from ...storage.prepared import Extract
from .blocks import DEEPEST_LIST, Block, cell, extract_of, link, list_of, paragraph, table_lines
from .extracted import ExtractError
from .zipped_xml import DC, local_name, part, properties_of, read_as, root_of

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# The same elements, as ISO 29500 Strict names them
STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
OFFICE_DOCUMENT = "/relationships/officeDocument"
PROPERTIES = "docProps/core.xml"
CORE = {
    "title": f"{DC}title",
    "author": f"{DC}creator",
    "subject": f"{DC}subject",
    "description": f"{DC}description",
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
AROUND_ROWS = ("sdt", "sdtContent", "ins", "customXml")
LONGEST_STYLE_CHAIN = 10


def extract(data: bytes) -> Extract:
    """Extract the text and the properties of a DOCX.

    Raises ExtractError for a file that is not a DOCX, is damaged or encrypted, or is too large
    when unpacked.
    """
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise ExtractError(
            "it is encrypted, or an old .doc; save it as .docx without a password", "encrypted"
        )
    with read_as("a DOCX"):
        document = WordDocument(ZipFile(BytesIO(data)))
        blocks = list(document.blocks())
        metadata = document.metadata()
    return extract_of(blocks, metadata)


class WordDocument:
    """The parts of a file, with its styles, lists and links."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._names = set(archive.namelist())
        self._main = self._main_part()
        self._folder, _, name = self._main.rpartition("/")
        self._links = {}
        for id, (kind, target) in self._relations(f"{self._folder}/_rels/{name}.rels").items():
            if kind.endswith("/hyperlink"):
                self._links[id] = target
        self._styles = {}
        for style in self._beside("styles.xml").iter(f"{W}style"):
            self._styles[_value(style, "styleId")] = style
        self._ordered = self._ordered_lists()
        self._notes: list[tuple[str, str]] = []  # kind and id, in the order of the references
        self._title = ""

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the body, and the notes. Raises ValueError if there is no body."""
        body = self._part(self._main).find(f"{W}body")
        if body is None:
            raise ValueError("no body")
        yield from self._blocks(body)
        yield from self._note_blocks()

    def metadata(self) -> dict[str, Any]:
        """The properties of the file. If they have no title, the first paragraph with the style
        "Title" is the title.
        """
        properties: dict[str, Any] = dict(properties_of(self._part(PROPERTIES), CORE))
        properties["title"] = properties["title"] or self._title
        properties["tags"] = list_of(properties["tags"])
        return properties

    def _main_part(self) -> str:
        for kind, target in self._relations("_rels/.rels").values():
            if kind.endswith(OFFICE_DOCUMENT):
                return target.lstrip("/")
        return "word/document.xml"

    def _note_blocks(self) -> Iterator[Block]:
        """Yield the notes that the text refers to, and the notes that these refer to."""
        notes: dict[tuple[str, str], ElementTree.Element] = {}
        for kind in ("footnote", "endnote"):
            for note in self._beside(f"{kind}s.xml").iter(W + kind):
                notes.setdefault((kind, _value(note, "id")), note)
        for number, key in enumerate(self._notes, 1):  # a note may add another
            if key not in notes:
                continue
            paragraphs = notes[key].iter(f"{W}p")
            text = " ".join(self._inline(paragraph) for paragraph in paragraphs).strip()
            if text:
                yield "text", [f"[^{number}]: {text}"]

    def _blocks(self, parent: ElementTree.Element) -> Iterator[Block]:
        """Yield the kind of each block, "text", "list", "code" or "table", and its lines."""
        for element in parent:
            name = local_name(element)
            if name == "p":
                yield from self._paragraph(element)
            elif name == "tbl":
                rows = list(self._table(element))
                if rows:
                    yield "table", rows
            elif name not in LEFT_OUT and name != "sectPr":  # content controls, inserted blocks
                yield from self._blocks(element)

    def _paragraph(self, element: ElementTree.Element) -> Iterator[Block]:
        text = self._inline(element)
        properties = element.find(f"{W}pPr")
        level, kind = self._style(properties)
        if kind == "code":
            yield "code", text.split("\n")
        elif not text.strip():
            pass
        elif level:
            title = " ".join(text.split())
            if kind == "title":
                self._title = self._title or title
            yield "text", [f"{'#' * min(level, 6)} {title}"]
        else:
            yield self._plain_paragraph(text, properties)
        for box in _boxes(element):
            yield from self._blocks(box)

    def _plain_paragraph(self, text: str, properties: ElementTree.Element | None) -> Block:
        list_id, level = self._numbering(properties)
        if list_id not in ("", "0"):
            depth = min(int(level or 0), DEEPEST_LIST)
            bullet = "-"
            if (list_id, str(depth)) in self._ordered:
                bullet = "1."
            return "list", ["  " * depth + f"{bullet} " + " ".join(text.split())]
        return "text", [line for row in text.strip().split("\n") for line in paragraph(row)]

    def _numbering(self, properties: ElementTree.Element | None) -> tuple[str, str]:
        """The list id and the level of a paragraph, from its own properties or its style."""
        list_id = level = ""
        for own in (properties, *(style.find(f"{W}pPr") for style in self._styles_of(properties))):
            numbering = own.find(f"{W}numPr") if own is not None else None
            if numbering is not None:
                list_id = list_id or _child_value(numbering, "numId")
                level = level or _child_value(numbering, "ilvl")
        return list_id, level

    def _style(self, properties: ElementTree.Element | None) -> tuple[int, str]:
        """The level of a heading, or 0, and "title", "code" or ""."""
        if properties is None:
            return 0, ""
        level = _child_value(properties, "outlineLvl")
        for style in self._styles_of(properties):
            name = _child_value(style, "name")
            heading = HEADING.fullmatch(name)
            if heading:
                return int(heading[1]), ""
            if name.lower() == "title":
                return 1, "title"
            if CODE.fullmatch(name):
                return 0, "code"
            own = style.find(f"{W}pPr")
            if not level and own is not None:
                level = _child_value(own, "outlineLvl")
        outline = int(level or 9)
        if outline >= 9:
            return (0, "")
        return (outline + 1, "")

    def _styles_of(self, properties: ElementTree.Element | None) -> Iterator[ElementTree.Element]:
        """Yield the style of a paragraph and the styles that it is based on, the nearest first."""
        id = "" if properties is None else _child_value(properties, "pStyle")
        for _ in range(LONGEST_STYLE_CHAIN):
            style = self._styles.get(id)
            if style is None:
                return
            yield style
            id = _child_value(style, "basedOn")

    def _inline(self, element: ElementTree.Element) -> str:
        parts: list[str] = []
        for child in element:
            name = local_name(child)
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
                parts.append(f"[^{self._note(child)}]")
            elif name == "hyperlink":
                target = self._links.get(child.get(f"{R}id", ""), "")
                parts.append(link(self._inline(child), target))
            else:
                parts.append(self._inline(child))
        return "".join(parts)

    def _note(self, reference: ElementTree.Element) -> int:
        """The number of a note; all references to a note share it."""
        key = local_name(reference).removesuffix("Reference"), _value(reference, "id")
        if key not in self._notes:
            self._notes.append(key)
        return self._notes.index(key) + 1

    def _table(self, table: ElementTree.Element) -> Iterator[str]:
        """The lines of a table. A cell that spans several columns or rows is placed in the first."""
        rows = []
        for element in _children(table, "tr"):
            row = [text for each in _children(element, "tc") for text in self._cell(each)]
            if any(row):
                rows.append(row)
        return table_lines(rows)

    def _cell(self, element: ElementTree.Element) -> list[str]:
        """The text of a cell, and an empty text for each further column that it spans."""
        span = 1
        is_continued = False
        properties = element.find(f"{W}tcPr")
        if properties is not None:
            span = int(_child_value(properties, "gridSpan") or 1)
            merged = properties.find(f"{W}vMerge")
            is_continued = merged is not None and _value(merged, "val") in ("", "continue")
        text = ""
        if not is_continued:
            paragraphs = [self._inline(each) for each in element.iter(f"{W}p")]
            text = cell(" ".join(paragraphs))
        return [text, *[""] * (span - 1)]

    def _ordered_lists(self) -> set[tuple[str, str]]:
        """The numbered lists, as list id and level."""
        levels: dict[str, set[str]] = {}
        numbering = self._beside("numbering.xml")
        for definition in numbering.iter(f"{W}abstractNum"):
            numbered = levels.setdefault(_value(definition, "abstractNumId"), set())
            for level in definition.findall(f"{W}lvl"):
                if _child_value(level, "numFmt") not in ("bullet", "none", ""):
                    numbered.add(_value(level, "ilvl"))
        ordered = set()
        for instance in numbering.iter(f"{W}num"):
            for depth in levels.get(_child_value(instance, "abstractNumId"), ()):
                ordered.add((_value(instance, "numId"), depth))
        return ordered

    def _relations(self, path: str) -> dict[str, tuple[str, str]]:
        """The type and target of each relation of a part, by id."""
        return {
            relation.get("Id", ""): (relation.get("Type", ""), relation.get("Target", ""))
            for relation in self._part(path)
        }

    def _beside(self, name: str) -> ElementTree.Element:
        """The root of a part beside the main one."""
        return self._part(f"{self._folder}/{name}")

    def _part(self, path: str) -> ElementTree.Element:
        """The root of a part, or an empty element if the part is missing.

        Raises ExtractError if it is too large or declares a document type, else UNREADABLE.
        """
        if path not in self._names:
            return ElementTree.Element("missing")
        return root_of(part(self._archive, path).replace(STRICT, W[1:-1].encode()))


def _boxes(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    """Yield the outermost text boxes of a paragraph. A fallback for old programs, with a copy of
    the box, is skipped.
    """
    for child in element:
        name = local_name(child)
        if name == "txbxContent":
            yield child
        elif name == "pict" or name not in LEFT_OUT:  # old programs put a box into a picture
            yield from _boxes(child)


def _children(parent: ElementTree.Element, name: str) -> Iterator[ElementTree.Element]:
    """Yield the rows of a table or cells of a row, including those inside content controls or
    insertions.
    """
    for child in parent:
        if local_name(child) == name:
            yield child
        elif local_name(child) in AROUND_ROWS:
            yield from _children(child, name)


def _value(element: ElementTree.Element, name: str) -> str:
    return element.get(W + name, "")


def _child_value(parent: ElementTree.Element, name: str) -> str:
    """The value of a child element, or ""."""
    child = parent.find(W + name)
    if child is None:
        return ""
    return _value(child, "val")
