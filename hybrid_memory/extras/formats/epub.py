"""Read a book as markdown, chapter by chapter.

The elements are those of EPUB 3.3. Damaged chapters are left out; the rest of the book is read.
"""

from io import BytesIO
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from ...storage.prepared import Extract
from .blocks import Block, extract_of
from .extracted import ExtractError
from .html import Page, decoded
from .zipped_xml import DC, UNREADABLE, on_a_line, part, properties_of, read_as, root_of

CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
OPF = "{http://www.idpf.org/2007/opf}"
PROPERTIES = {
    "title": f"{DC}title",
    "author": f"{DC}creator",
    "description": f"{DC}description",
    "created": f"{DC}date",
}


def extract(data: bytes) -> Extract:
    """Extract the text of a book, chapter by chapter, and its properties.

    Raises ExtractError for a file that is not an EPUB, is damaged or encrypted, or is too large when
    unpacked.
    """
    with read_as("an EPUB"):
        archive = ZipFile(BytesIO(data))
        container = root_of(part(archive, CONTAINER))
        files = [element.get("full-path", "") for element in container.iter()]
        place = next(filter(None, files), "")
        package = root_of(part(archive, place))
        chapters = _chapters(package, dirname(place))
        _refuse_encrypted(archive, chapters)
        blocks, damaged = _chapter_blocks(archive, chapters)
    metadata: dict[str, Any] = dict(properties_of(package, PROPERTIES))
    subjects = [on_a_line(subject.text) for subject in package.iter(f"{DC}subject")]
    metadata["tags"] = [subject for subject in subjects if subject]
    return extract_of(blocks, metadata, damaged)


def _chapters(package: ElementTree.Element, folder: str) -> list[str]:
    """The paths of the chapters in reading order, without duplicates."""
    paths = {}
    for item in package.iter(f"{OPF}item"):
        href = unquote(item.get("href", "").partition("#")[0])
        if "html" in item.get("media-type", ""):
            paths[item.get("id", "")] = normpath(join(folder, href))
    references = [reference.get("idref", "") for reference in package.iter(f"{OPF}itemref")]
    return list(dict.fromkeys(paths[id] for id in references if id in paths))


def _refuse_encrypted(archive: ZipFile, chapters: list[str]) -> None:
    """Raise ExtractError if a chapter is encrypted, as in books with digital rights management."""
    if ENCRYPTION not in archive.namelist():
        return
    for element in root_of(part(archive, ENCRYPTION)).iter():
        if unquote(element.get("URI", "")) in chapters:
            raise ExtractError("it is encrypted", "encrypted")


def _chapter_blocks(archive: ZipFile, chapters: list[str]) -> tuple[list[Block], list[str]]:
    """The blocks of all chapters, and the names of damaged and missing chapters."""
    blocks: list[Block] = []
    damaged = []
    for chapter in chapters:
        try:
            blocks += Page(decoded(part(archive, chapter))).blocks
        except UNREADABLE:
            damaged.append(chapter)
    return blocks, damaged
