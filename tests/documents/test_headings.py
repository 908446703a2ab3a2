"""Headings of markdown: those that a CommonMark parser finds, on written texts and on made-up ones."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.documents.headings import ids_in
from hybrid_memory.documents.links import document_links
from hybrid_memory.documents.markdown import FORMAT, chunk_text, headings_below
from hybrid_memory.documents.structure import markdown_structure
from hybrid_memory.sync.ingest import Ingest

Notes = Callable[[dict[str, str]], Path]
PARSER = MarkdownIt("commonmark").enable("table")


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("Title\n=====\n\ntext\n\nPart\n----\nmore", ["Title", "Title > Part"]),
        ("  Title\n   ==  \ntext", ["Title"]),
        ("two lines\nof a title\n---\ntext", ["two lines of a title"]),
        ("Above\n===\ntext\n\n# Below\nmore\n\nLast\n---\nend", ["Above", "Below", "Below > Last"]),
        ("# One\nTitle\n---\ntext", ["One > Title"]),
        ("text\n\n---\nmore", [""]),
        ("- item\nlazy\n===\ntext", [""]),
        ("> quote\n---\ntext", [""]),
        ("```\nTitle\n===\n```\ntext", [""]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n---\ntext", [""]),
        ("<div>\nTitle\n===\n</div>\ntext", [""]),
        ("[a]: b.md\n---\ntext", [""]),
        ("text\n<!-- c -->\nTitle\n---\nx", ["", "Title"]),
        ("- item\n<!-- c\nd -->\nTitle\n---\nx", ["", "Title"]),
    ],
)  # fmt: skip
def test_a_line_of_equals_signs_or_dashes_makes_the_paragraph_above_a_heading(
    text: str, paths: list[str]
) -> None:
    assert [chunk.heading_path for chunk in chunk_text(text)] == paths


def test_an_underlined_heading_is_part_of_its_chunk_and_a_rule_is_not() -> None:
    (chunk,) = chunk_text("Title\n---\ntext\n\n---\nmore")
    assert (chunk.text, chunk.start_line, chunk.end_line) == ("Title\n---\ntext\n\n\nmore", 1, 6)


def test_an_underline_below_a_paragraph_too_long_for_a_heading_is_a_rule() -> None:
    assert {chunk.heading for chunk in chunk_text("many words " * 200 + "\n---\ntext")} == {""}


LINES = [
    *("Title", "two words", "  indented", "    code", "", "", "===", "=", "---", " ---", "--  ", "- - -"),
    *("***", "# H", "- item", "1. one", "2) two", "> quote", "```", "| a | b |", "|---|---|", "[r]: /u"),
    *("<b>x</b> y", "<!-- c -->"),
]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=8))
@example(["[r]: /u", "    code", "==="])
@example(["[r]: /u", "2) two", "==="])
def test_headings_are_those_of_a_parser(lines: list[str]) -> None:
    """Apart from those inside lists and quotes, which are text, and those inside HTML."""
    # A comment is removed before blocks are found, so it does not end an item.
    assume("<!-- c -->" not in lines or not {"- item", "1. one", "2) two"} & {*lines})
    text = "\n".join(lines)
    tokens = PARSER.parse(text)
    assume(
        not any(token.type == "html_block" and "\n" in token.content.strip() for token in tokens)
    )
    assume(not any(token.type == "heading_open" and token.level for token in tokens))
    assert [(line, level) for line, level, _ in headings_below(text, 0, markdown_structure)] == [
        (token.map[0] + 1, int(token.tag[1]))
        for token in tokens
        if token.type == "heading_open" and token.map
    ]


def test_underlined_headings_name_a_note_and_its_parts(store: HybridStore, notes: Notes) -> None:
    text = "---\ntags: [ops]\n---\nServer handbook\n===\n\nBackups\n---\nat 03:00\n\nRestore\n---\nCall Ruiz.\n"
    folder = notes({"pandoc.md": text, "plain.txt": text})
    Ingest(store, patterns=["*.md", "*.txt"]).run([str(folder)])
    for target in ("memory/pandoc.md#Backups", "memory/plain.txt#Backups"):
        found = read(store, target)
        assert (found["start_line"], found["end_line"]) == (7, 10)
    assert read(store, "pandoc#Restore")["text"] == "Restore\n---\nCall Ruiz."
    assert read(store, "pandoc#server-handbook")["start_line"] == 4
    assert set(store.storage.links.named("Server handbook")) == {
        "memory/pandoc.md",
        "memory/plain.txt",
    }


def test_the_title_is_the_first_heading_whatever_its_form() -> None:
    assert document_links("Server *handbook*\n====\n", 0, {}).titles == ("Server handbook",)
    assert document_links("Part\n----\n\nTitle\n=====\n", 0, {}).titles == ()
    assert [title for _, _, title in FORMAT.headings(["---", "a: b", "---", "Title", "==="])] == [
        "Title"
    ]


@pytest.mark.parametrize(
    ("title", "name", "ids"),
    [
        ("Install {#install}", "Install", ["install"]),
        ("Setup {#setup .unnumbered key=1}", "Setup", ["setup"]),
        ("Run {: #run }", "Run", ["run"]),
        ("Name {id=name}", "Name", ["name"]),
        ('Name {id="a-b" .c}', "Name", ["a-b"]),
        ('<a id="x"></a>Anchor', "Anchor", ["x"]),
        ("<ins>Anchor</ins>", "Anchor", []),
        ('<font color="red">Two</font> and <u>more</u>', "Two and more", []),
        ("Build <version>.jar", "Build <version>.jar", []),
        ("Why `<b>x</b>`?", "Why `<b>x</b>`?", []),
        ('<a href="z.md">Text</a>', "Text", []),
        ("Head &amp; Tail &lt;T&gt;", "Head & Tail <T>", []),
        ("Use {{ name }}", "Use {{ name }}", []),
        ("List<a> of b", "List of b", []),
        ("{#alone}", "{#alone}", ["alone"]),
    ],
)
def test_attributes_and_anchors_name_a_heading_and_are_not_its_text(
    title: str, name: str, ids: list[str]
) -> None:
    for text in (f"# {title}\n\ntext\n", f"{title}\n===\n\ntext\n"):
        [chunk] = chunk_text(text)
        assert chunk.heading_path == name
        assert title in chunk.text
    assert ids_in(f"# {title}") == ids


@pytest.mark.both_engines
def test_the_id_of_a_heading_finds_its_part(store: HybridStore) -> None:
    store.store(
        "a.md", "# Setup {#s1}\n\none\n\n## Install {: #first }\n\ntwo\n\n## Run\n\nthree\n"
    )
    for part in ("Install", "install", "first"):
        assert read(store, f"a.md#{part}")["text"] == "## Install {: #first }\n\ntwo\n"
    assert read(store, "a.md#s1")["start_line"] == 1
    [found] = store.search("two", 1)
    assert found["heading_path"] == "Setup > Install"
