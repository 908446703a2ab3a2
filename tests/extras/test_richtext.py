"""HTML, EPUB and ODT as markdown, and what hostile files of these kinds cost."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.extras.formats import epub, html, odt
from hybrid_memory.extras.formats.extracted import ExtractError
from hybrid_memory.sync.ingest import Ingest

PAGE = """\
<!DOCTYPE html><html><head><title>The boiler &amp; I</title>
<meta name="author" content="Ann"><meta name="keywords" content="heat, house">
<meta property="article:published_time" content="2026-01-05T10:00:00Z">
<style>p { color: red }</style><script>var boiler = "<p>none</p>";</script></head>
<body><nav><a href="/">Home</a></nav>
<h1>Report on the <em>boiler</em></h1>
<p>The gauge shows 1.4&nbsp;bar, see
<a href="https://example.com/manual">the manual</a>.<br>Ann was here.
<ul><li>tighten the valve<li>bleed radiators <ol><li>upstairs</ol></ul>
<blockquote><p>Call first.</p></blockquote>
<pre>$ make hot

# a comment
</pre>
<table><caption>Prices</caption><tr><th>Part<th>Price<tr><td>Valve<td>34<tr><td>a|b<td>5</table>
<p># not a heading</p>
<svg><text>drawn</text></svg>
</body></html>
"""
TEXT = """\
# Report on the boiler

The gauge shows 1.4 bar, see [the manual](https://example.com/manual). Ann was here.

- tighten the valve
- bleed radiators
  1. upstairs

> Call first.

```
$ make hot

# a comment
```

Prices

| Part | Price |
|---|---|
| Valve | 34 |
| a\\|b | 5 |

    # not a heading
"""


def test_a_page_is_its_headings_lists_tables_code_and_links() -> None:
    found = html.extract(PAGE.encode())
    assert found.text == TEXT
    assert found.metadata == {
        "title": "The boiler & I",
        "author": "Ann",
        "tags": ["heat", "house"],
        "created": "2026-01-05",
    }


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"<p>one<p>two", "one\n\ntwo\n"),
        ("<p>naïve".encode(), "naïve\n"),
        ("<meta charset='koi8-r'><p>чай".encode("koi8-r"), "чай\n"),
        (b"<meta charset='zlib'><p>tea", "tea\n"),
        ("<meta charset='utf-16'><p>té".encode(), "té\n"),
        ("\ufeff<p>tea".encode("utf-16-le"), "tea\n"),
        (b"<script><p>x", "\n"),
        (b"<a href='#x'>a</a> <a href='javascript:b()'>b</a> <a>c</a> <a href='d'>d", "a b c d\n"),
        (b"<a href='one two'>x <a href='y'>z</a>", "x [z](y)\n"),
        (b"</p></ul></table></pre></a></blockquote></h1>x", "x\n"),
        (b"<table><tr><td><h2>A</h2>b<td>c</table>d", "## A\n\nb\n\nc\n\nd\n"),
        (b"<table><tr><td>a<table><tr><td>b</table></table>", "a\n\n| b |\n|---|\n"),
        (b"<img alt='A boiler' src='data:,x'>", "A boiler\n"),
        (b"<pre>one</pre><pre>two</pre>", "```\none\n```\n\n```\ntwo\n```\n"),
        (b"<pre>~~~\n````\n# a\n</pre>", "`````\n~~~\n````\n# a\n`````\n"),
    ],
)
def test_forms_of_a_page(data: bytes, text: str) -> None:
    assert html.extract(data).text == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<header>menu</header><main><h1>A</h1>b</main><footer>c</footer>", "# A\n\nb\n"),
        ("menu<main>a<article><h1>B</h1></article><article>c</article></main>d", "a\n\n# B\n\nc\n"),
        ("menu<article><h1>A</h1>b</article><article>teaser</article>c", "# A\n\nb\n"),
        ("<table><tr><td>menu<td><main><h1>A</h1>b</main></table>c", "# A\n\nb\n"),
        ("menu<main>a<p>never closed", "a\n\nnever closed\n"),
        # Not known which: all is read
        ("<h1>A</h1>b<article>one comment</article>", "# A\n\nb\n\none comment\n"),
        ("<article><h1>A</h1></article><article><h1>B</h1></article>c", "# A\n\n# B\n\nc\n"),
        ("<main>a</main>b<main>c</main>", "a\n\nb\n\nc\n"),
        ("a<main><main>b</main>c</main>d", "b\n\nc\n"),
    ],
)
def test_of_a_page_that_marks_its_main_part_this_is_read(page: str, text: str) -> None:
    assert html.extract(page.encode()).text == text


@pytest.mark.parametrize("unit", ["<a href=x>y", "<ul><li>x", "<blockquote>x"])
def test_elements_that_are_never_closed_make_a_text_in_proportion(unit: str) -> None:
    small, large = (html.extract(unit.encode() * count).text for count in (2_000, 4_000))
    assert len(large) <= 2 * len(small) + 100
    assert len(small) < 2_000 * 40


def packed(parts: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/book.opf"/></rootfiles></container>"""
OPF = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">
<metadata><dc:title>The Boiler</dc:title><dc:creator>Ann</dc:creator><dc:date>2026-01-05T00:00</dc:date>
<dc:subject>heat</dc:subject></metadata>
<manifest><item id="a" href="text/one%20a.xhtml" media-type="application/xhtml+xml"/>
<item id="b" href="two.xhtml" media-type="application/xhtml+xml"/>
<item id="i" href="i.png" media-type="image/png"/></manifest>
<spine><itemref idref="b"/><itemref idref="a"/><itemref idref="b"/><itemref idref="i"/></spine></package>"""


def book(**more: str | bytes) -> bytes:
    parts: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OPS/book.opf": OPF,
        "OPS/two.xhtml": "<html><head><title>x</title></head><body><h1>One</h1><p>First.</p></body></html>",
        "OPS/text/one a.xhtml": "<h1>Two</h1><p>Last.</p>",
    }
    return packed(parts | more)


def test_a_book_is_its_chapters_in_their_order_each_once() -> None:
    around = "<article><h1>One</h1><p>First.</p></article>"  # of a book, everything is read
    found = epub.extract(book(**{"OPS/two.xhtml": f"{around}"}))
    assert found.text == "# One\n\nFirst.\n\n# Two\n\nLast.\n"
    found = epub.extract(book())
    assert found.text == "# One\n\nFirst.\n\n# Two\n\nLast.\n"
    assert found.metadata == {
        "title": "The Boiler",
        "author": "Ann",
        "created": "2026-01-05",
        "tags": ["heat"],
    }


OFFICE = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = (
    f'xmlns:office="{OFFICE}:office:1.0" xmlns:text="{OFFICE}:text:1.0" xmlns:table="{OFFICE}:table:1.0"'
    f' xmlns:style="{OFFICE}:style:1.0" xmlns:meta="{OFFICE}:meta:1.0"'
    ' xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
BODY = """
<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>
<text:p text:style-name="Title">Report</text:p>
<text:h text:outline-level="2">Pressure</text:h>
<text:p>The gauge<text:s text:c="999999999"/>shows 1.4<text:tab/>bar, see <text:a xlink:href="https://example.com">the
manual</text:a>.<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Measured on
Monday.</text:p></text:note-body></text:note></text:p>
<text:list text:style-name="L1"><text:list-item><text:p>tighten</text:p>
<text:list text:style-name="L2"><text:list-item><text:p>upstairs</text:p></text:list-item></text:list>
</text:list-item></text:list>
<text:p text:style-name="P1">$ make</text:p><text:p text:style-name="P1"># hot</text:p>
<text:section><table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>Part</text:p>
</table:table-cell><table:table-cell><text:p>Price</text:p></table:table-cell>
</table:table-row></table:table-header-rows>
<table:table-row table:number-rows-repeated="1000000"><table:table-cell><text:p>Valve</text:p></table:table-cell>
<table:table-cell><text:p>34</text:p></table:table-cell></table:table-row></table:table></text:section>
<text:p># no heading</text:p>
"""
STYLES = """<office:automatic-styles>
<style:style style:name="P1" style:parent-style-name="Preformatted_20_Text"/>
<text:list-style style:name="L2"><text:list-level-style-number text:level="1"/></text:list-style>
</office:automatic-styles>"""


def office(body: str = BODY, **more: str | bytes) -> bytes:
    content = (
        f"<office:document-content {SPACES}>{STYLES}<office:body><office:text>{body}</office:text>"
        "</office:body></office:document-content>"
    )
    meta = (
        f"<office:document-meta {SPACES}><office:meta><dc:title>The Report</dc:title>"
        "<meta:keyword>heat</meta:keyword><meta:creation-date>2026-01-05T10:00:00</meta:creation-date>"
        "</office:meta></office:document-meta>"
    )
    return packed({"content.xml": content, "meta.xml": meta} | more)


def test_an_odt_is_its_headings_lists_tables_code_and_notes() -> None:
    found = odt.extract(office())
    assert found.text == (
        "# Report\n\n## Pressure\n\n"
        "The gauge shows 1.4 bar, see [the manual](https://example.com).[^1]\n\n"
        "- tighten\n  1. upstairs\n\n```\n$ make\n# hot\n```\n\n"
        "| Part | Price |\n|---|---|\n| Valve | 34 |\n\n    # no heading\n\n[^1]: Measured on Monday.\n"
    )
    assert found.metadata == {"title": "The Report", "tags": ["heat"], "created": "2026-01-05"}


def test_a_list_without_text_leaves_no_line() -> None:
    items = "<text:list><text:list-item><text:p/></text:list-item></text:list>"
    found = odt.extract(office(f"<text:p>one</text:p>{items}<text:p>two</text:p>"))
    assert found.text == "one\n\ntwo\n"


@pytest.mark.parametrize(
    ("extract", "data", "kind"),
    [
        (epub.extract, packed({"a": "b"}), "damaged"),
        (
            epub.extract,
            book(**{"META-INF/encryption.xml": "<a><b URI='OPS/two.xhtml'/></a>"}),
            "encrypted",
        ),
        (odt.extract, office("<text:p>"), "damaged"),
        (odt.extract, packed({"content.xml": "<a/>"}), "damaged"),
        (odt.extract, office(**{"META-INF/manifest.xml": "<m:encryption-data/>"}), "encrypted"),
    ],
    ids=["no book", "encrypted book", "not closed", "no text", "encrypted text"],
)
def test_a_bad_file_is_an_error_that_says_why(
    extract: Callable[[bytes], object], data: bytes, kind: str
) -> None:
    with pytest.raises(ExtractError) as error:
        extract(data)
    assert error.value.kind == kind


def test_a_missing_chapter_costs_what_it_says() -> None:
    found = epub.extract(book(**{"OPS/book.opf": OPF.replace("two.xhtml", "gone.xhtml")}))
    assert "Last." in found.text
    assert found.warnings == [
        ("these damaged or missing parts are left out: OPS/gone.xhtml", "damaged part")
    ]


def test_they_are_taken_in_by_pattern_and_cited_by_the_lines_of_their_text(
    store: HybridStore, tmp_path: Path
) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/page.HTML").write_text(PAGE)
    (tmp_path / "web/book.epub").write_bytes(book())
    (tmp_path / "web/report.odt").write_bytes(office())
    patterns = ["*.html", "*.HTML", "*.epub", "*.odt"]
    assert Ingest(store, patterns=patterns).run([str(tmp_path / "web")]).files == 3
    hits = store.search("tag:heat gauge chapter First tighten")
    assert {hit["doc_id"] for hit in hits} == {"web/page.HTML", "web/book.epub", "web/report.odt"}
    [page] = [hit for hit in hits if hit["doc_id"] == "web/page.HTML"]
    assert "- tighten the valve" in read(store, "web/page.HTML")["text"]
    assert page["metadata"]["author"] == "Ann"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ('<p title="a > b">one</p>', "one\n"),
        ("<p>it's <b title=it's>two</b>", "it's two\n"),
        ("<p>one<br / >two</p>", "one two\n"),
        ("<p>before <![if !vml]>between<![endif]> after", "before between after\n"),
        ("<p>before <![weird]>after", "before after\n"),
        ("<p>five < six", "five < six\n"),
    ],
)
def test_pages_that_are_not_well_formed(page: str, text: str) -> None:
    assert html.extract(page.encode()).text == text
