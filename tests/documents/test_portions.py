"""Reading a large file in portions gives the same document as reading it whole."""

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.documents import large_files, markdown, portions
from hybrid_memory.documents.chunker import Chunk
from hybrid_memory.documents.files import BadFileError, read
from hybrid_memory.documents.large_files import LargeReading
from hybrid_memory.documents.markdown import FORMAT, Markdown, MarkdownReading, headings_below
from hybrid_memory.extras.formats.rst import FORMAT as RST
from hybrid_memory.extras.formats.rst import PLAIN

NOTES = Path(__file__).parents[1]
ANY_SIZE = 10**9
BLOCKS = [
    *("# One\n\n", "## Two\n", "### Three ##\n\n", "Under\n=====\n\n", "#\n\n", "text\n---\n"),
    *("A sentence about the server. Another one! And a third?\n\n", "word " * 40 + "\n\n"),
    *(
        "- an item\n- another [[Link|words]]\n",
        "  - an inner one\n    on two lines\n\n",
        "1. first\n",
    ),
    *("* star\n\n  a paragraph of the item\n\n", "> quoted\n> twice\n\n", "    indented code\n\n"),
    *(
        "```python\n# no heading\n[[x]]\n\n- no item\n```\n\n",
        "~~~\n\ntext\n~~~\n",
        "- ```\n  x\n  ```\n",
    ),
    *("| a | b |\n|---|---|\n| c | [d](d.md) |\n| e | f |\n\n", "| g | h |\n"),
    *("<!-- one\n\n# hidden\n\n-->\n\n", "%%\nhidden #tag\n\n[[no]]\n%%\n\n", "$$\nx\n$$\n\n"),
    *(
        "#+begin_src\n[[no]]\n#+end_src\n\n",
        "See [[Note]] and [two](two.md). #tag #a/b\n",
        "\n",
        "\n\n",
    ),
    *(
        "[ref]: other.md\n\n",
        "**User:** Where?\n\n",
        "**Assistant:** There.\n\n",
        "***\n\n",
        "`[[x]]`\n",
    ),
    *(
        "a `code\nspan` here\n\n",
        "2026-03-05 a line\n",
        "## 2026-03-05\n\n",
        "x" * 230 + "\n",
        "中文没有空格。\n",
    ),
]
UNCLOSED = ["```\n", "<!-- ", "-->\n", "%%\n", "#+begin_src\n", "  ~~~\n", "$$\n"]
sizes = st.sampled_from([(60, 0), (100, 30), (200, 50), (512, 50)])


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large_files, "PORTION", 500)
    monkeypatch.setattr(large_files, "LONGEST", ANY_SIZE)
    monkeypatch.setattr(portions, "LOOK_AHEAD", 1000)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("large") / "2026-01 note.md"


def in_portions(path: Path, format: Markdown = FORMAT) -> LargeReading:
    return LargeReading(str(path), ANY_SIZE, False, {}, format)


def whole(path: Path, format: Markdown = FORMAT) -> MarkdownReading:
    return MarkdownReading(read(str(path), ANY_SIZE, False), {}, format)


def document(reading: Any, path: Path, size: int, overlap: int) -> dict[str, Any]:
    chunks = list(reading.chunks(size, overlap))
    found = {
        name: getattr(reading, name)
        for name in ("links", "metadata", "warnings", "digest", "mtime", "size")
    }
    found["date"] = reading.date(str(path))
    reading.close()
    return found | {"chunks": chunks}


def assert_same(path: Path, size: int, overlap: int, format: Markdown = FORMAT) -> None:
    portioned = document(in_portions(path, format), path, size, overlap)
    assert portioned == document(whole(path, format), path, size, overlap)


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(BLOCKS + UNCLOSED), min_size=40, max_size=150), sizes)
def test_a_text_gives_the_same_document_in_portions(
    path: Path, blocks: list[str], size: Any
) -> None:
    # The first portion decides on these.
    path.write_text(
        "---\ntitle: Log\n---\n**User:** Hi.\n\n**Assistant:** Hi.\n\n# Start\n" + "".join(blocks)
    )
    assert_same(path, *size)


def notes() -> str:
    """Real notes in one text, in an order that is always the same."""
    texts = [file.read_text() for file in sorted(NOTES.rglob("*.md"))]
    random.Random(1).shuffle(texts)
    return "\n\n".join(text.removeprefix("---") for text in texts[:150])


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows with each text that is cut into chunks."""
    found: list[int] = []
    chunks_of = large_files.chunks_of

    def counted(text: str, *args: Any) -> list[Chunk]:
        found.append(len(text))
        return chunks_of(text, *args)

    monkeypatch.setattr(large_files, "chunks_of", counted)
    return found


@pytest.mark.parametrize("format", [FORMAT, PLAIN])
def test_real_notes_give_the_same_document_in_portions(
    path: Path, lengths: list[int], format: Markdown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_files, "PORTION", 5_000)
    path.write_text(notes())
    assert_same(path, 512, 50, format)
    assert len(lengths) > 10
    assert max(lengths) < 40_000


@pytest.mark.parametrize("line_end", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be"])
def test_encodings_and_line_ends_make_no_difference(
    path: Path, encoding: str, line_end: str
) -> None:
    text = notes()[:12_000].replace("\n", line_end) + " ä 中 \U0001f469"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path.write_bytes(mark + text.encode(encoding))
    assert_same(path, 200, 50)


@pytest.mark.parametrize("at", [0, 499, 500, 501, 4_000, -1])
@pytest.mark.parametrize("wrong", [b"\xff", b"\xe4\xb8", b"\xc3"])
def test_the_first_byte_that_is_not_text_is_reported(
    path: Path, at: int, wrong: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_files, "BLOCK", 500)
    data = b"# Title\n\n" + "Zwölf Wörter. ".encode() * 500
    at = len(data) if at < 0 else at
    path.write_bytes(data[:at] + wrong + data[at:])
    assert_same(path, 200, 50)


def test_a_binary_file_and_one_that_is_too_large_are_refused(path: Path) -> None:
    path.write_bytes(b"a\0b" * 1000)
    with pytest.raises(BadFileError, match="NUL"):
        in_portions(path)
    path.write_text("text " * 1000)
    with pytest.raises(BadFileError, match="max_file_bytes"):
        LargeReading(str(path), 4_999, False, {}, FORMAT)


def test_a_file_that_changes_while_it_is_read_is_refused(path: Path) -> None:
    path.write_text("A line.\n\n" * 1000)
    reading = in_portions(path)
    chunks = reading.chunks(100, 0)
    next(chunks)
    with path.open("a") as file:
        file.write("More.\n")
    with pytest.raises(BadFileError, match="changed"):
        list(chunks)
    reading.close()


@pytest.fixture
def bounded(lengths: list[int], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """As `lengths`, with a memory for few characters."""
    monkeypatch.setattr(large_files, "LONGEST", 4_000)
    return lengths


def test_long_code_is_code_in_all_portions(path: Path, bounded: list[int]) -> None:
    code = "".join(f"# note {number}\n\nrun {number}\n" for number in range(2_000))
    path.write_text(f"# Code\n\n```python\n{code}```\n\n## Below\n\nThe end. [[Note]]\n")
    found = document(in_portions(path), path, 200, 50)
    *in_code, below = found["chunks"]
    assert {chunk.heading_path for chunk in in_code} == {"Code"}
    assert below.heading_path == "Code > Below"
    assert [link.target for link in found["links"].links] == ["Note"]
    assert max(bounded) <= 9_000
    assert_lines(path, found["chunks"])


def test_a_long_table_has_its_header_in_all_portions(path: Path, bounded: list[int]) -> None:
    rows = "".join(f"| [[Note {number}]] | {'word ' * 9}|\n" for number in range(1_000))
    path.write_text(f"# Table\n\n| [[Name]] | text |\n|---|---|\n{rows}")
    found = document(in_portions(path), path, 300, 50)
    assert all("| [[Name]] | text |\n|---|---|\n" in chunk.text for chunk in found["chunks"])
    assert found["links"] == whole(path).links
    assert found["chunks"] == whole(path).chunks(300, 50)
    assert max(bounded) <= 9_000


@pytest.mark.parametrize("word", ["word ", "中文"])
def test_a_long_line_is_divided(path: Path, bounded: list[int], word: str) -> None:
    path.write_text("# Line\n\n" + word * 20_000 + "\n\n## Below\n\nThe end.\n")
    chunks = document(in_portions(path), path, 200, 0)["chunks"]
    assert {chunk.start_line for chunk in chunks[:-1]} == {1, 3}
    assert chunks[-1].heading_path == "Line > Below"
    assert chunks[-1].start_line == 5
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    if word == "word ":
        assert sum(chunk.text.count("word") for chunk in chunks) == 20_000
    assert max(bounded) <= 9_000


@pytest.mark.parametrize("hidden", ["<!-- {}-->", "%%\n{}%%\n"])
def test_what_is_hidden_for_long_is_text(path: Path, bounded: list[int], hidden: str) -> None:
    lines = "".join(f"\nline {number} with [[Note {number}]]\n" for number in range(1_000))
    path.write_text("# One\n\n" + hidden.format(lines) + "\n\n# Two\n\nThe end.\n")
    found = document(in_portions(path), path, 200, 0)
    text = " ".join(chunk.text for chunk in found["chunks"])
    assert all(f"[[Note {number}]]" in text for number in range(1_000))
    assert found["chunks"][-1].heading_path == "Two"
    assert_lines(path, found["chunks"])


@pytest.mark.parametrize(
    "items", ["- outer\n  - ", "- outer\n\t- long {}\n\t\t- ", "1. outer\n   * "]
)
def test_a_long_inner_list_stays_a_list(path: Path, bounded: list[int], items: str) -> None:
    *around, inner = items.replace("{}", "word " * 50).split("\n")
    rows = "".join(f"{inner}inner [[Note {number}]]\n" for number in range(1_000))
    path.write_text("\n".join([*around, rows]) + "\nThe end.\n")
    found = document(in_portions(path), path, 200, 0)
    assert found["links"] == whole(path).links
    assert sum(chunk.text.count("inner") for chunk in found["chunks"]) == 1_000
    assert all("outer" in chunk.header + chunk.items for chunk in found["chunks"][1:-1])
    assert max(bounded) <= 9_000
    assert_lines(path, found["chunks"])


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(BLOCKS), min_size=20, max_size=60))
def test_headings_of_a_long_text_are_found_in_portions(blocks: list[str]) -> None:
    text = "---\ntitle: Log\n---\n" + "".join(blocks)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "LINES", 30)
        patch.setattr(markdown, "AHEAD", 10)
        found = FORMAT.headings(text.split("\n"))
    assert found == headings_below(text, 3, FORMAT.structure)


@pytest.mark.parametrize("format", [FORMAT, PLAIN])
def test_headings_of_real_notes_are_found_in_portions(
    format: Markdown, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = notes().split("\n")
    whole = format.headings(lines)
    monkeypatch.setattr(markdown, "LINES", 300)
    monkeypatch.setattr(markdown, "AHEAD", 100)
    assert format.headings(lines) == whole


def test_levels_that_depend_on_the_text_above_are_found_in_the_whole_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(markdown, "LINES", 10)
    monkeypatch.setattr(markdown, "AHEAD", 3)
    lines = ["Part", "====", "", "Section", "-------", ""] * 10
    assert [level for _, level, _ in RST.headings(lines)] == [1, 2] * 10


def test_the_speakers_of_a_long_conversation(path: Path, lengths: list[int]) -> None:
    messages = [f"**User:** Question {n}?\n\n**Assistant:** Answer {n}.\n\n" for n in range(400)]
    messages[200] += "A long answer.\n\n" * 100
    path.write_text("# Chat\n\n" + "".join(messages))
    assert_same(path, 100, 0)
    assert len(lengths) > 10


def assert_lines(path: Path, chunks: list[Chunk]) -> None:
    """Check that each chunk's text is on its lines, in order and without a gap in the numbers."""
    lines = path.read_text().split("\n")
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        source = "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert chunk.text.split("\n")[-1].strip() in source
