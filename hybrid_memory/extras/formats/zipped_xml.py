"""Read parts of a package: a ZIP archive of XML, such as DOCX, ODT and EPUB."""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from xml.etree import ElementTree
from zipfile import BadZipFile, ZipFile

from .extracted import ExtractError

MAX_XML = 50_000_000  # bytes of an unpacked part
DC = "{http://purl.org/dc/elements/1.1/}"
UNREADABLE = (
    BadZipFile,
    zlib.error,
    ElementTree.ParseError,
    KeyError,
    ValueError,
    RuntimeError,
    EOFError,
    OSError,
)


@contextmanager
def read_as(format: str) -> Iterator[None]:
    """Convert the errors of a damaged file to an ExtractError that names the format."""
    try:
        yield
    except UNREADABLE as error:
        raise ExtractError(f"it cannot be read as {format} ({error})", "damaged") from error


def part(archive: ZipFile, path: str) -> bytes:
    """Read a part of a package. Raises ExtractError if it is too large, else one of UNREADABLE."""
    if archive.getinfo(path).file_size > MAX_XML:
        raise ExtractError(f"{path} has over {MAX_XML:,} bytes when unpacked", "size")
    return archive.read(path)


def root_of(data: bytes) -> ElementTree.Element:
    """Parse an XML document. Raises ExtractError if it declares a document type."""
    return ElementTree.fromstring(data, ElementTree.XMLParser(target=WithoutDoctype()))


class WithoutDoctype(ElementTree.TreeBuilder):
    """Refuses document types, and with them all entities, in every encoding."""

    def doctype(self, name: str, public_id: str | None, system_id: str | None) -> None:
        raise ExtractError("it declares a document type, which is not allowed", "damaged")


def local_name(element: ElementTree.Element) -> str:
    """The name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


def properties_of(root: ElementTree.Element, names: Mapping[str, str]) -> dict[str, str]:
    """The text of the first element with each of these names."""
    return {key: on_a_line(root.findtext(f".//{name}")) for key, name in names.items()}


def on_a_line(text: str | None) -> str:
    return " ".join((text or "").split())
