"""PDF and DOCX files. Those in files/ were made with public tools:

report.html, a heading, two sections and a page break, by `chromium --headless --no-pdf-header-footer --print-to-pdf`, once with
`--generate-pdf-document-outline`; boxes.pdf in the same way of a page whose code has `position: relative`; scan.pdf by Pillow from a picture; encrypted.pdf of that by pypdf; report.docx by pandoc.
"""

import io
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.documents.files import BadFileError
from hybrid_memory.documents.formats import refusal
from hybrid_memory.extras.formats import docx, pdf
from hybrid_memory.extras.formats import extracted as sandbox
from hybrid_memory.extras.formats.extracted import ExtractError
from hybrid_memory.extras.formats.zipped_xml import MAX_XML
from hybrid_memory.extras.why.explain import explain
from hybrid_memory.search.request import Budget, Request
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.report import Report
from tests.command import Run
from tests.extras.test_richtext import packed

FILES = Path(__file__).parent / "files"
PATTERNS = ("*.pdf", "*.docx")

REPORT = """\
# Report on the boiler

The boiler in the cellar was inspected on
Monday.

## Pressure

The gauge shows 1.4 bar, as it should.

## Repairs

The valve of circuit seven leaks and has to be
replaced.
Part Price
Valve 34
    # not a heading
"""

LETTER = """\
# Report on the boiler

Ann

2026-01-05

# Pressure

The gauge shows 1.4 bar, see [the manual](https://example.com/manual).[^1]

- tighten the valve
- bleed radiators
  1. upstairs

## Repairs

| Part | Price |
|---|---|
| Valve | 34 |
| a\\|b | 5 |

```
$ make hot

# a comment
```

    # not a heading

[^1]: Measured on Monday.
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    return folder


def put(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes((FILES / name).read_bytes())


def ingest(store: HybridStore, folder: Path, **options: Any) -> Report:
    return Ingest(store, patterns=PATTERNS, **options).run([str(folder)])


def test_a_pdf_is_its_lines_with_headings_of_its_outline_and_its_pages() -> None:
    found = pdf.extract((FILES / "report.pdf").read_bytes())
    assert (found.text, found.pages, found.warnings) == (REPORT, [1, 9], [])
    assert found.metadata == {"title": "Report on the boiler", "created": "2026-11-22"}


def test_headings_of_a_pdf_without_outline_are_the_lines_in_larger_type() -> None:
    found = pdf.extract((FILES / "no-outline.pdf").read_bytes())
    assert (found.text, found.pages) == (REPORT, [1, 9])


def line(text: str, size: float = 10.0, at: float = 0.0) -> pdf.PageLine:
    return pdf.PageLine(text, size, at)


def placed(text: str, at: float, left: float = 0, right: float = 100) -> pdf.PageLine:
    return pdf.PageLine(text, 10, at, left, right)


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        # Boxes that are drawn last
        ([("a", 90), ("d", 60), ("f", 20), ("b", 80), ("c", 70), ("e", 40)], "abcdef"),
        # Two columns below a title, and a note at the foot
        (
            [
                ("t", 90, 0, 100),
                *(("a", 80, 0, 45), ("b", 60, 0, 45)),
                ("z", 10, 0, 100),
                *(("c", 80, 55, 100), ("d", 60, 55, 100)),
            ],
            "tabcdz",
        ),
        # Beside each other on a line, and across what is there
        ([("a", 90, 0, 40), ("b", 90, 50, 90), ("c", 80, 0, 40), ("d", 80, 50, 90)], "abcd"),
        ([("a", 90), ("c", 70), ("b", 95), ("d", 80), ("e", 60)], "badce"),
        # Across two columns
        (
            [
                *(("a", 90, 0, 45), ("b", 60, 0, 45), ("c", 90, 55, 100), ("d", 60, 55, 100)),
                ("x", 70, 0, 100),
            ],
            "abcdx",
        ),
    ],
)
def test_lines_of_a_page_stand_as_one_reads_them(drawn: list[Any], read: str) -> None:
    lines = pdf.in_reading_order([placed(*line) for line in drawn])
    assert "".join(line.text for line in lines) == read


def test_what_a_browser_draws_last_stands_where_one_sees_it() -> None:
    text = pdf.extract((FILES / "boxes.pdf").read_bytes()).text
    places = [text.index(word) for word in ("Before", "make hot", "Between", "make cold", "After")]
    assert places == sorted(places)


def test_running_heads_and_page_numbers_are_left_out() -> None:
    pages = [
        [
            line("The Manual, page 7"),
            line(f"text {word}"),
            line("more"),
            line("even more"),
            line("xi"),
        ]
        for word in "abcd"
    ]
    kept = pdf._without_running_heads(
        [[*page[:1], line(f"first {at}{'x' * at}"), *page[1:]] for at, page in enumerate(pages)]
    )
    assert [[each.text for each in page] for page in kept] == [
        [f"first {at}{'x' * at}", f"text {word}", "more"] for at, word in enumerate("abcd")
    ]  # fmt: skip


def test_lines_that_are_all_the_text_of_a_pdf_are_no_running_heads() -> None:
    pages = [[line("CONFIDENTIAL")] for _ in range(10)]
    assert pdf._without_running_heads(pages) == pages


def test_an_entry_of_the_outline_is_found_behind_its_number_and_over_two_lines() -> None:
    pages = [
        [
            line("Getting started"),
            line("Chapter 2: Getting"),
            line("Started"),
            line("Getting started is easy."),
        ]
    ]
    assert pdf._outline_headings(
        pages, {0: [("Getting Started", 1)], 7: [("No such page", 1)]}
    ) == {(0, 0): (1, 1)}
    assert pdf._outline_headings([pages[0][1:]], {0: [("Getting Started", 1)]}) == {(0, 0): (1, 2)}


def test_a_docx_is_its_headings_lists_tables_code_and_notes() -> None:
    found = docx.extract((FILES / "report.docx").read_bytes())
    assert (found.text, found.pages) == (LETTER, [])
    assert found.metadata == {
        "title": "Report on the boiler", "author": "Ann", "tags": ["house", "heating"],
        "created": "2026-11-22", "modified": "2026-11-22",
    }  # fmt: skip


def made_docx(body: str, **parts: str) -> bytes:
    """A DOCX with this body, and other parts by name."""
    return packed(
        {
            f"word/{name}.xml": f'<w:{name} xmlns:w="{docx.W[1:-1]}">{content}</w:{name}>'
            for name, content in {"document": f"<w:body>{body}</w:body>", **parts}.items()
        }
    )


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>", "new"),
        (paragraph("deep", '<w:outlineLvl w:val="2"/>'), "### deep"),
        (paragraph("own", '<w:pStyle w:val="Mine"/>'), "## own"),
        (f"<w:sdt><w:sdtContent>{paragraph('inside')}</w:sdtContent></w:sdt>", "inside"),
        (
            f"<w:tbl><w:tr><w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{paragraph('wide')}</w:tc></w:tr><w:tr><w:tc>{paragraph('a')}"
            f"</w:tc><w:tc>{paragraph('b')}{paragraph('c')}</w:tc></w:tr><w:tr/></w:tbl>",
            "| wide |  |\n|---|---|\n| a | b c |",
        ),
        ("<w:p><w:r><w:t>a</w:t><w:br/><w:t># b</w:t></w:r></w:p>", "a\n    # b"),
        (paragraph("```", '<w:pStyle w:val="Code"/>') + paragraph("# x", '<w:pStyle w:val="Code"/>'), "````\n```\n# x\n````"),
    ],
)  # fmt: skip
def test_forms_of_a_docx(body: str, text: str) -> None:
    styles = '<w:style w:styleId="Mine"><w:name w:val="My own"/><w:basedOn w:val="H2"/></w:style>'
    styles += '<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
    styles += '<w:style w:styleId="Code"><w:name w:val="Source Code"/></w:style>'
    assert docx.extract(made_docx(body, styles=styles)).text == f"{text}\n"


LISTS = """\
<w:abstractNum w:abstractNumId="1"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:lvl w:ilvl="1"><w:numFmt w:val="decimal"/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="2"/></w:num>
"""
LIST_STYLES = """\
<w:style w:styleId="Bullet"><w:name w:val="List Bullet"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Own"><w:name w:val="My list"/><w:basedOn w:val="Bullet"/></w:style>
<w:style w:styleId="Number"><w:name w:val="n"/><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="2"/></w:numPr></w:pPr></w:style>
<w:style w:styleId="Level"><w:name w:val="Subtitle"/><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr></w:style>
"""


@pytest.mark.parametrize(
    ("properties", "text"),
    [
        ('<w:pStyle w:val="Own"/>', "- a"),
        ('<w:pStyle w:val="Number"/>', "  1. a"),
        ('<w:pStyle w:val="Bullet"/><w:numPr><w:ilvl w:val="1"/></w:numPr>', "  - a"),
        ('<w:pStyle w:val="Bullet"/><w:numPr><w:numId w:val="0"/></w:numPr>', "a"),
        ('<w:pStyle w:val="Level"/>', "a"),
    ],
)
def test_items_of_a_list_may_be_so_by_their_style(properties: str, text: str) -> None:
    data = made_docx(paragraph("a", properties), styles=LIST_STYLES, numbering=LISTS)
    assert docx.extract(data).text == f"{text}\n"


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: b"no archive", "damaged"),
        (lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "encrypted"),
        (lambda: made_docx("</w:body>"), "damaged"),
        (lambda: made_docx("<w:p>" * 5_000 + "</w:p>" * 5_000), "damaged"),
        (lambda: made_docx(" " * (MAX_XML + 1)), "size"),
        (
            lambda: re.sub(
                rb"(?s)(?<=word/document.xml)....",
                b"\xff" * 4,
                made_docx(paragraph("text")),
                count=1,
            ),
            "damaged",
        ),
    ],
    ids=["no archive", "encrypted", "no XML", "nested", "bomb", "not deflated"],
)
def test_a_bad_docx_is_an_error_that_says_why(make: Callable[[], bytes], kind: str) -> None:
    with pytest.raises(ExtractError) as error:
        docx.extract(make())
    assert error.value.kind == kind


def test_a_document_type_is_refused_and_with_it_all_entities() -> None:
    with pytest.raises(ExtractError, match="declares a document type"):
        docx.extract(packed({"word/document.xml": '<!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>'}))


def note(id: int) -> str:
    return f'</w:pPr><w:r><w:footnoteReference w:id="{id}"/></w:r><w:pPr>'


def definition(id: int, content: str) -> str:
    return f'<w:footnote w:id="{id}"><w:p><w:r>{content}</w:r></w:p></w:footnote>'


def test_a_note_that_is_referred_to_often_stands_once() -> None:
    own = '<w:t>see itself</w:t><w:footnoteReference w:id="7"/><w:footnoteReference w:id="8"/>'
    notes = definition(7, own) + definition(8, "<w:t>another</w:t>")
    found = docx.extract(made_docx(paragraph("text", note(7) * 2), footnotes=notes))
    assert found.text == "[^1][^1]text\n\n[^1]: see itself[^1][^2]\n\n[^2]: another\n"


def test_text_boxes_are_read_once_however_deep_they_are() -> None:
    def box(content: str) -> str:
        alternative = f"<w:pict><w:txbxContent>{content}</w:txbxContent></w:pict>"
        return (
            f"<w:p><w:r><w:AlternateContent><w:Choice><w:txbxContent>{content}</w:txbxContent>"
            f"</w:Choice><w:Fallback>{alternative}</w:Fallback></w:AlternateContent></w:r></w:p>"
        )

    def old_box(content: str) -> str:
        return f"<w:p><w:r><w:pict><w:txbxContent>{content}</w:txbxContent></w:pict></w:r></w:p>"

    assert docx.extract(made_docx(box(paragraph("in a box")))).text == "in a box\n"
    deep = old_box(old_box(paragraph("deep")))
    assert docx.extract(made_docx(deep)).text == "deep\n"


def test_a_wide_row_does_not_widen_the_rows_below_it() -> None:
    wide = f'<w:tr><w:tc><w:tcPr><w:gridSpan w:val="99"/></w:tcPr>{paragraph("wide")}</w:tc></w:tr>'
    narrow = f"<w:tr><w:tc>{paragraph('a')}</w:tc></w:tr>"
    [_, _, *below] = docx.extract(made_docx(f"<w:tbl>{wide}{narrow * 3}</w:tbl>")).text.splitlines()
    assert below == ["| a |"] * 3


def test_properties_of_any_length_are_shortened() -> None:
    stream = io.BytesIO(made_docx(paragraph("text")))
    keywords = ";".join(f"tag{number}" for number in range(100_000))
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr(
            "docProps/core.xml",
            f'<a xmlns:d="http://purl.org/dc/elements/1.1/"><d:title>{"x" * 100_000}</d:title>'
            '<k:keywords xmlns:k="http://schemas.openxmlformats.org/package/2006/metadata/'
            f'core-properties">{keywords}</k:keywords></a>',
        )
    metadata = sandbox.extracted(stream.getvalue(), "docx:extract", None).metadata
    assert len(metadata["title"]) == sandbox.LONGEST_PROPERTY
    assert len(metadata["tags"]) == sandbox.MOST_TAGS


def test_a_document_that_takes_too_much_memory_is_an_error_of_that_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_less = "from hybrid_memory.extras.formats import extracted; extracted.MEMORY = 1 << 28"
    monkeypatch.setattr(sandbox, "RUN", sandbox.RUN.replace("from", f"{with_less}\nfrom", 1))
    bomb = made_docx("<w:p a='' b=''/>" * 1_000_000)
    assert len(bomb) < 200_000
    with pytest.raises(
        BadFileError, match="more than 256 MB of memory|the program that reads it crashed"
    ):
        sandbox.extracted(bomb, "docx:extract", None)


def test_a_document_that_breaks_its_reader_is_an_error_of_that_file() -> None:
    with pytest.raises(BadFileError, match="the program that reads it crashed"):
        sandbox.extracted(b"", "no such reader", None)


def test_what_cannot_be_read_is_told_and_the_others_are_in(
    store: HybridStore, folder: Path
) -> None:
    put(folder, "report.pdf", "report.docx", "encrypted.pdf", "scan.pdf")
    (folder / "broken.pdf").write_bytes((FILES / "report.pdf").read_bytes()[:3000])
    report = ingest(store, folder)
    assert report.files == 3
    assert {(Path(error["path"]).name, error["kind"]) for error in report.errors} == {
        ("broken.pdf", "damaged"), ("encrypted.pdf", "encrypted"),
    }  # fmt: skip
    assert [(Path(warning["path"]).name, warning["kind"]) for warning in report.warnings] == [
        ("scan.pdf", "no text")
    ]
    assert "ocrmypdf" in report.warnings[0]["reason"]
    assert explain(store, str(folder / "encrypted.pdf"))["rule"] == "encrypted"
    assert explain(store, str(folder / "scan.pdf"))["rule"] == "empty"


def test_results_and_get_cite_lines_of_the_extracted_text_and_pages(
    store: HybridStore, folder: Path
) -> None:
    put(folder, "report.pdf")
    ingest(store, folder)
    [found] = store.search("valve of circuit seven", limit=1, mode="keyword")
    assert found["citation"] == "papers/report.pdf#L10-L16 (p. 2)"
    assert (found["page"], found["heading_path"]) == (2, "Report on the boiler > Repairs")
    got = read(store, found["citation"])
    assert got["text"].startswith("## Repairs\n\nThe valve")
    assert (got["citation"], got["page"], got["changed"]) == (found["citation"], 2, False)
    whole = read(store, "report.pdf", max_lines=12)
    citations = ("papers/report.pdf#L1-L12 (pp. 1-2)", "papers/report.pdf#L13-L16")
    assert (whole["citation"], whole["next"]) == citations
    together = store.answer("boiler valve", Request(5, budget=Budget(2000))).results[0]
    assert (together["citation"], together["page"]) == ("papers/report.pdf#L1-L16 (pp. 1-2)", 1)
    short = store.answer("valve circuit", Request(5, mode="keyword", budget=Budget(60))).results[0]
    assert short["citation"].endswith(" (p. 2)")
    assert short["page"] == 2
    over_both = Request(5, mode="keyword", context=1, budget=Budget(60))
    excerpt = store.answer("valve circuit", over_both).results[0]
    assert "…" in excerpt["text"]
    assert (excerpt["citation"], excerpt["page"]) == ("papers/report.pdf#L12-L12 (p. 2)", 2)


def test_a_document_without_pages_has_no_key_for_them(store: HybridStore, folder: Path) -> None:
    put(folder, "report.docx")
    ingest(store, folder)
    [found] = store.search("tighten", limit=1, mode="keyword")
    assert found["citation"] == "papers/report.docx#L7-L13"
    assert "page" not in found
    assert "page" not in read(store, found["citation"])
    assert read(store, found["citation"])["text"].splitlines()[4] == "- tighten the valve"


def test_get_reads_what_was_indexed_until_a_changed_file_is_ingested_again(
    store: HybridStore, folder: Path
) -> None:
    put(folder, "report.docx")
    ingest(store, folder)
    (folder / "report.docx").write_bytes(made_docx(paragraph("Quite another text")))
    assert read(store, "report.docx") | {"text": read(store, "report.docx")["text"] + "\n"} == read(store, "report.docx") | {
        "text": LETTER, "changed": True,
    }  # fmt: skip
    ingest(store, folder, incremental=True)
    assert read(store, "report.docx")["text"] == "Quite another text"
    (folder / "report.docx").unlink()
    put(folder, "report.pdf")
    ingest(store, folder)
    assert store.storage.connection.execute("select doc_id from extracts").fetchall() == [
        ("papers/report.pdf",)
    ]


def test_nothing_is_extracted_again_that_did_not_change(
    store: HybridStore, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "report.pdf", "report.docx")
    ingest(store, folder)
    monkeypatch.setattr(sandbox, "extracted", lambda *args: pytest.fail("extracted again"))
    assert ingest(store, folder, incremental=True).skipped == 2
    os.utime(folder / "report.pdf")
    assert ingest(store, folder, incremental=True).skipped == 2
    assert read(store, "papers/report.pdf")["text"] + "\n" == REPORT


def test_without_the_extra_a_pdf_names_the_command_and_a_docx_is_read(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(folder, "report.pdf", "report.docx")
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    patterns = ("--pattern", "*.pdf", "--pattern", "*.docx")
    done = run("ingest", "--path", str(folder), *patterns, "--provider", "none")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["files"], report["errors_by"]) == (1, {"package": 1})
    assert "report.pdf: a .pdf file needs the Python package pypdfium2" in done.stderr
    assert "add it with `" in done.stderr


def test_a_file_in_place_of_a_module_is_not_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "json.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(folder)
    assert refusal(str(FILES / "report.docx"), 10**6, True) is None


def test_an_editor_is_not_asked_to_open_what_is_no_text(run: Run, folder: Path) -> None:
    put(folder, "report.pdf")
    run("ingest", "--path", str(folder), "--pattern", "*.pdf", "--provider", "none")
    done = run("search", "circuit seven", "--open", "1")
    assert done.returncode == 1
    assert (
        "is not a text file; read it with `hybrid-memory get 'papers/report.pdf#L10-L16 (p. 2)'`"
        in done.stderr
    )
