"""Tables in HTML are cut by rows, with their header, and every row keeps its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.documents.html_tables import as_pipe_table
from hybrid_memory.documents.markdown import chunk_text
from hybrid_memory.documents.structure import markdown_structure

HEAD = "<table>\n<tr><th>No</th><th>Name</th></tr>\n"


def row(number: int) -> str:
    return f"<tr>\n  <td>{number}</td>\n  <td>Shop &amp; <b>bar</b> {number}</td>\n</tr>\n"


TABLE = HEAD + "".join(map(row, range(40))) + "</table>\n"


def test_each_chunk_has_the_header_and_whole_rows_on_their_lines() -> None:
    text = f"# Shops\n\nAll of them:\n{TABLE}\nThe end.\n"
    chunks = chunk_text(text, 150)
    assert len(chunks) > 5
    lines = text.split("\n")
    numbers = []
    for chunk in chunks[1:-1]:
        header, rule, *rows = filter(None, chunk.text.split("\n"))
        assert (header, rule) == ("| No | Name |", "|---|---|")
        for found in rows:
            number = found.split("|")[1].strip()
            assert found == f"| {number} | Shop & bar {number} |"
            place = lines.index(f"  <td>{number}</td>") + 1
            assert chunk.start_line <= place - 1 <= chunk.end_line
            numbers.append(int(number))
    assert numbers == sorted(numbers)
    assert "</" not in "".join(chunk.text for chunk in chunks)
    assert chunks[-1].text.endswith("The end.")


@pytest.mark.parametrize(
    ("html", "rows"),
    [
        ("<table>\n<tr>\n<th>a</th></tr>\n<tr>\n<td>1</td></tr>\n</table>", {1: "| a |", 2: "|---|", 3: "| 1 |"}),
        ("<TABLE>\n<caption>Ports</caption>\n<TR>\n<TD>a</TD>\n</TR>\n<TR><TD>1</TD></TR>\n</TABLE>",
         {1: "Ports", 2: "| a |", 3: "|---|", 5: "| 1 |"}),
        ("<table><tr><td>a|b<td>c\n<br>\n<tr><td>1<td>2\n</table>", {0: r"| a\|b | c |", 1: "|---|---|", 2: "| 1 | 2 |"}),
        ("<table>\n<tr><th>a</th></tr>\n<tr><td>1</td></tr><tr><td>2</td></tr>\n</table>",
         {0: "| a |", 1: "|---|", 2: "| 1 | | 2 |"}),
        ("<table>\n<tr><th>a</th></tr>\n<tr></tr>\n<tr>\n<td>1</td></tr>\n</table>", {1: "| a |", 2: "|---|", 3: "| 1 |"}),
    ],
)  # fmt: skip
def test_forms_of_tables(html: str, rows: dict[int, str]) -> None:
    lines = html.split("\n")
    found = as_pipe_table(lines)
    assert found is not None
    assert found[1] == [rows.get(number, "") for number in range(len(lines))]
    assert found[1][found[0] + 1].startswith("|---|")


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td>a</td></tr><tr><td>b</td></tr></table>",  # all on one line
        "<table>\n<tr><td>a</td></tr>\n\n</table>",  # one row
        "<table>\n<tr><td>a</td></tr>\ntext\n<tr>\n<td>b</td></tr>\n</table>",  # text between rows
        "<table>\n<tr><td>a</td></tr><tr><td>b</td></tr>\n</table>",  # no line for the rule
        "<table>\n<tr><td>a</td></tr>\n\n<tr><td>b</td></tr>\n</table> text",
        "<table>\n\n| a |\n|---|\n| b |\n</table>",
    ],
)
def test_other_tables_stay_as_they_are(html: str) -> None:
    assert as_pipe_table(html.split("\n")) is None
    assert markdown_structure(f"\n{html}\n").text == f"\n{html}\n"


@pytest.mark.parametrize(
    "text", [f"```html\n{TABLE}```\n", f"<table>\n{TABLE[:60]}", f"- item\n  {TABLE}"]
)
def test_code_and_unclosed_tables_are_no_tables(text: str) -> None:
    assert "|---|" not in markdown_structure(f"\n{text}").text


PARTS = (
    "<table>",
    "</table>",
    "<tr>",
    "</tr>",
    "<td>",
    "<th x='1'>",
    "</td>",
    "a",
    "|",
    "&amp;",
    " ",
    "\n",
    "\n",
    "```\n",
    "- ",
)


@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
def test_no_line_and_no_word_is_lost(text: str) -> None:
    found = markdown_structure(f"\n{text}")
    assert found.text.count("\n") == text.count("\n") + 1
    assert found.text.count("a") >= text.count("a")
    for block in found.blocks:
        assert found.text[block.start - 1] == "\n"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("[cite_start]It opens at nine. [cite: 3, 17]", "It opens at nine."),
        ("It opens [cite: 3-5] at nine.[cite:4]", "It opens at nine."),
        ("See [cite: note] and [@cite: 3].", "See [cite: note] and [@cite: 3]."),
    ],
)
def test_marks_of_sources_in_pasted_answers_are_no_text(text: str, left: str) -> None:
    assert chunk_text(text)[0].text == left


CHAT = 'Conversation info (untrusted metadata):\n```json\n{"id": 17}\n```\n'


def test_a_block_of_data_about_a_chat_is_no_text() -> None:
    [chunk] = chunk_text(f"user: {CHAT}\nWhere is the otter?\n")
    assert chunk.text.split() == ["user:", "Where", "is", "the", "otter?"]
    assert [chunk.text for chunk in chunk_text(f"{CHAT}{CHAT}\nA boat.\n")] == ["A boat."]
    [chunk] = chunk_text('Untrusted data:\n```json\n{"id": 17}\n```\n')
    assert "17" in chunk.text
