"""DOCX and PDF files of one structure at two sizes for `fuzz.py documents`, and how the cost of
extracting them grows.

A cost is counted in calls, of Python's functions and of C's, so that it is the same on every
machine.
"""

import io
import random
import sys
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

from hybrid_memory.extras.formats import docx, pdf
from hybrid_memory.extras.formats.extracted import ExtractError

SIZES = (20, 60, 200)  # times that a structure is repeated
LARGER = 4  # times the size of the first file
MOST = 6  # times the calls for the first file; 4 is linear, 16 is quadratic
ALONGSIDE = 2_000  # calls that do not count, such as those of a first import

TEXT = "<w:r><w:t>some words</w:t></w:r>"
# {n} is the number of the repetition; {inside} is another structure.
PIECES = [
    f"<w:p>{TEXT}</w:p>",
    '<w:p><w:r><w:footnoteReference w:id="{n}"/></w:r></w:p>',
    '<w:p><w:r><w:endnoteReference w:id="1"/></w:r></w:p>',
    f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{{n}}"/><w:numId w:val="{{n}}"/></w:numPr></w:pPr>{TEXT}</w:p>',
    f'<w:p><w:pPr><w:pStyle w:val="s{{n}}"/></w:pPr>{TEXT}</w:p>',
    "<w:p><w:r><w:pict><w:txbxContent>{inside}</w:txbxContent></w:pict></w:r></w:p>",
    "<w:sdt><w:sdtContent>{inside}</w:sdtContent></w:sdt>",
    '<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val="{n}"/></w:tcPr>{inside}</w:tc></w:tr></w:tbl>',
    "<w:tbl><w:tr><w:tc>{inside}</w:tc><w:tc>{inside}</w:tc></w:tr></w:tbl>",
    f'<w:p><w:hyperlink xmlns:r="{docx.R[1:-1]}" r:id="r{{n}}">{TEXT}</w:hyperlink></w:p>',
]
PARTS = {
    "footnotes": f'<w:footnote w:id="{{n}}"><w:p>{TEXT}</w:p></w:footnote>',
    "endnotes": f'<w:endnote w:id="{{n}}"><w:p>{TEXT}</w:p></w:endnote>',
    "styles": '<w:style w:styleId="s{n}"><w:name w:val="own"/><w:basedOn w:val="s{n}0"/></w:style>',
    "numbering": '<w:num w:numId="{n}"><w:abstractNumId w:val="{n}"/></w:num>',
}


class Case(NamedTuple):
    name: str
    smaller: bytes
    larger: bytes


def make(rng: random.Random) -> Case:
    size = rng.choice(SIZES)
    seed = rng.random()
    suffix, maker = rng.choice([("docx", made_docx), ("docx", made_docx), ("pdf", made_pdf)])
    # Both files are made of the same choices
    smaller = maker(random.Random(seed), size)
    larger = maker(random.Random(seed), size * LARGER)
    return Case(f"grown.{suffix}", smaller, larger)


def kept(case: Case) -> tuple[str, bytes]:
    return case.name, case.larger


def check(case: Case, folder: Any) -> None:
    extract = docx.extract if case.name.endswith(".docx") else pdf.extract
    before = calls(extract, case.smaller)
    after = calls(extract, case.larger)
    assert after < MOST * before + ALONGSIDE, f"{before:,} calls became {after:,}"


def calls(extract: Callable[[bytes], Any], data: bytes) -> int:
    """Return how many functions are called to extract a text, or to refuse the file."""
    count = 0

    def on_event(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    profiler = sys.getprofile()
    sys.setprofile(on_event)
    try:
        extract(data)
    except ExtractError:
        pass
    finally:
        sys.setprofile(profiler)
    return count


def made_docx(rng: random.Random, size: int) -> bytes:
    """Return a document that repeats a structure side by side, or inside of itself."""
    structure = "".join(rng.choices(PIECES, k=rng.randint(1, 3)))
    if rng.random() < 0.3:
        body = nested(rng, size)
    else:
        inside = f"<w:p>{TEXT}</w:p>"
        body = "".join(filled(structure, number, inside) for number in range(size))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = {"document": f"<w:body>{body}</w:body>"}
        for name, entry in PARTS.items():
            parts[name] = "".join(filled(entry, number, "") for number in range(size))
        for name, content in parts.items():
            root = f'<w:{name} xmlns:w="{docx.W[1:-1]}">{content}</w:{name}>'
            archive.writestr(f"word/{name}.xml", root)
    return stream.getvalue()


def nested(rng: random.Random, depth: int) -> str:
    around = rng.choice([piece for piece in PIECES if piece.count("{inside}") == 1])
    body = f"<w:p>{TEXT}</w:p>"
    for number in range(min(depth, 150)):
        body = filled(around, number, body)
    return body


def filled(structure: str, number: int, inside: str) -> str:
    return structure.replace("{n}", str(number)).replace("{inside}", inside)


def made_pdf(rng: random.Random, size: int) -> bytes:
    """Return pages with lines in some sizes of type, and an outline whose entries are on them, or
    name nothing.
    """
    on_one_page = rng.random() < 0.5
    repeated = rng.random() < 0.3
    heights = rng.choice([[10], [10, 10, 10, 14], [10, 20, 30]])
    titles = rng.choice(["line {n}", "not there {n}", ""])
    lines = []
    for number in range(size):
        text = "the same" if repeated else f"line {number}"
        height = heights[number % len(heights)]
        lines.append(f"BT /F1 {height} Tf 50 {20_000 - 40 * number} Td ({text}) Tj ET")
    contents = ["\n".join(lines)] if on_one_page else lines
    return pdf_file(contents, [titles.replace("{n}", str(number)) for number in range(size)])


def pdf_file(contents: list[str], titles: list[str]) -> bytes:
    """Return a PDF with a page for each content, and an outline to the first page."""
    first_page = 4
    first_entry = first_page + 2 * len(contents)
    pages = " ".join(f"{first_page + 2 * number} 0 R" for number in range(len(contents)))
    last = first_entry + len(titles) - 1
    objects = [
        "<< /Type /Catalog /Pages 2 0 R /Outlines 3 0 R >>",
        f"<< /Type /Pages /Kids [{pages}] /Count {len(contents)} >>",
        f"<< /Type /Outlines /First {first_entry} 0 R /Last {last} 0 R /Count {len(titles)} >>",
    ]
    font = "<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >>"
    for content in contents:
        stream = len(objects) + 2
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 21000] /Resources {font} "
            f"/Contents {stream} 0 R >>"
        )
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    for number, title in enumerate(titles, first_entry):
        following = f"/Next {number + 1} 0 R" if number < last else ""
        objects.append(
            f"<< /Title ({title}) /Parent 3 0 R /Dest [{first_page} 0 R /Fit] {following} >>"
        )
    data = b"%PDF-1.7\n"
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        data
        + (
            f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n{table}"
            f"trailer << /Size {len(places) + 1} /Root 1 0 R >>\nstartxref\n{len(data)}\n%%EOF\n"
        ).encode()
    )
