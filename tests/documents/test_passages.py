"""Where chunks begin and end: sentences, items, code, tables; and what is left out of them."""

import pytest

from hybrid_memory.documents.markdown import chunk_text
from hybrid_memory.documents.structure import markdown_structure


def texts_of(text: str, size: int, overlap: int = 0) -> list[str]:
    return [chunk.text for chunk in chunk_text(text, size, overlap)]


def cleaned(text: str) -> str:
    return markdown_structure(f"\n{text}").text.removeprefix("\n")


@pytest.mark.parametrize(
    ("size", "chunks", "between"),
    [
        (67, ["Ask Dr. Smith, e.g. about v1.2.3. See https://x.org/docs.", "It is fast."], " "),
        (50, ["Ask Dr. Smith, e.g. about v1.2.3.", "See https://x.org/docs. It is fast."], " "),
        (42, ["First one.\nA line that\nis wrapped here.", "Last one."], "\n"),
        (30, ["first of all this,", "then that and then more of it"], " "),
        (40, ["- buy milk", "- call the bank\n  about the loan\n- sleep"], "\n"),
        (35, ["> One sentence\n> goes on. Two.", ">\n> Three of them."], "\n"),
        (12, ["今天下雨。我们去看书！", "你来吗？好的，明天见。"], ""),
        (35, ["It is ready.", "Run this:\n\n```\nmake\n```"], " "),
        (45, ["Some words before it.", "```\nfirst = 1\n\nsecond = 2\n```\n\nAfter it."], "\n\n"),
        (24, ["```\ncall(1)\ncall(2)", "call(3)\ncall(4)\n```"], "\n"),
    ],
)
def test_a_chunk_ends_where_a_reader_would_end_it(
    size: int, chunks: list[str], between: str
) -> None:
    assert texts_of(between.join(chunks), size) == chunks


@pytest.mark.parametrize(
    "option",
    ["{}) {}", "{}. {}", "   - [ ] {}. {}", "({}) {}", "**{}.** {}", "{}) {}\n", "> {}) {}"],
)
@pytest.mark.parametrize("letters", ["ABCD", "abcd"])
def test_options_of_a_question_stay_with_it(option: str, letters: str) -> None:
    answers = [
        "Tin, which is soft and cheap",
        "Iron, which is hard",
        "Gold",
        "Copper, which is red",
    ]
    options = "\n".join(map(option.format, letters, answers))
    mark = "> " if option.startswith(">") else ""
    text = f"{'Some text fills the passage. ' * 8}\n\n{mark}12. Which metal melts first?\n{options}\n\nTin."
    (quiz,) = (chunk.text for chunk in chunk_text(text, 300, 0) if "Which metal" in chunk.text)
    assert all(answer in quiz for answer in answers)


def test_options_that_do_not_fit_are_cut_between_two() -> None:
    options = "".join(f"{letter}) {'word ' * 12}end\n" for letter in "ABCDEFGH")
    chunks = chunk_text(f"1. Which of these?\n{options}", 200, 0)
    assert len(chunks) == 3
    assert all(chunk.text.endswith("end") for chunk in chunks)


# Tables


def test_later_rows_begin_with_the_header_which_is_not_on_their_lines() -> None:
    rows = [f"| host{number} | 10.0.0.{number} |" for number in range(6)]
    text = "\n".join(["# Hosts", "", "| name  | address  |", "|-------|----------|", *rows])
    first, *later = chunk_text(text, 90, 30)
    assert first.text.startswith("# Hosts\n\n| name  |")
    shown = first.text.count("| host")
    for chunk in later:
        assert chunk.header == "| name | address |\n|---|---|\n"
        own = chunk.text.removeprefix(chunk.header)
        assert own.split("\n") == text.split("\n")[chunk.start_line - 1 : chunk.end_line]
        assert len(chunk.text) <= 90
        shown += own.count("| host")
    assert shown == 6


@pytest.mark.parametrize(
    "cell", ["Copper", "A name that goes on for more than a hundred characters " * 3]
)
def test_later_parts_of_a_row_begin_with_its_first_cell(cell: str) -> None:
    row = f"| {cell} | {'a sentence about the metal. ' * 30}| 2020 |"
    chunks = chunk_text(
        f"| Metal | Text | Year |\n|---|---|---|\n| Tin | x | 1 |\n{row}\n", 300, 50
    )
    parts = [chunk.text.split("\n")[2] for chunk in chunks if chunk.start_line == 4]
    assert len(parts) > 3
    assert all(part.startswith(f"| {cell[:40]}"[:60]) for part in parts)
    assert all(" … " in part for part in parts[1:])
    assert all(len(chunk.text) <= 300 for chunk in chunks)


def items_around(text: str, of: str) -> str:
    """The items around the chunk that begins with `of`."""
    chunks = chunk_text(text.replace("FILL", "some more words " * 14), 240, 0)
    (items,) = (chunk.items for chunk in chunks if chunk.text.lstrip(" \t->").startswith(of))
    return items


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- Garage\n  - FILL\n  - hammer FILL", "Garage"),
        ("* Garage\n\t+ Shelf\n\t\t- FILL\n\t\t- hammer FILL", "Garage > Shelf"),
        ("- Garage\n  - Shelf\n    - FILL\n  - hammer FILL", "Garage"),
        ("- Garage\n  - FILL\n- hammer FILL", ""),
        ("- Garage\n  - FILL\n\nhammer FILL", ""),
        ("- Garage\n\nBetween.\n\n    - FILL\n    - hammer FILL", ""),
        ("- Garage\n\n  FILL\n\n  hammer FILL", "Garage"),
        ("> - Garage\n>   - FILL\n>   - hammer FILL", "Garage"),
        ("- Garage\n  ```\n  - echo FILL\n  ```\n  - FILL\n  - hammer FILL", "Garage"),
        ("# Garage\n- FILL\n# Shed\n\n  - FILL\n  - hammer FILL", ""),
    ],
)
def test_passage_inside_a_list_has_the_items_around_it(text: str, items: str) -> None:
    found = items_around(text, "hammer")
    assert found.startswith(items)
    assert bool(found) == bool(items)


def test_items_around_a_passage_are_short_and_the_innermost_are_kept() -> None:
    deep = "".join(f"{'  ' * depth}- item {depth} {'word ' * 40}\n" for depth in range(9))
    items = chunk_text(deep, 240, 0)[-1].items
    assert len(items) <= 200
    assert "item 0" not in items


def test_rest_of_a_long_item_has_its_beginning() -> None:
    text = f"- Garage\n  - **Hammer.** {'A sentence about it. ' * 40}"
    assert {chunk.items[:21] for chunk in chunk_text(text, 240, 0)[2:]} == {"Garage > **Hammer.** "}


def test_text_after_a_table_has_no_header() -> None:
    text = "| a | b |\n|---|---|\n| 1 | 2 |\n\nSome text after the table. And more of it."
    assert [chunk.header for chunk in chunk_text(text, 45, 0)] == ["", ""]


def test_table_in_code_is_code() -> None:
    text = "```\na | b\n---|---\n1 | 2\n```"
    assert [block.header for block in markdown_structure(f"\n{text}").blocks] == [""]


# What is left out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("![logo](data:image/png;base64,AAAA+/=) by me", "![logo](…) by me"),
        ("key " + "Zm9v" * 60 + " end", "key … end"),
        ("https://example.com/page?token=" + "a1" * 200, "https://example.com/page…"),
        ("function(a){" + "return(a);" * 40 + "}", ""),
        (
            f"| Name{' ' * 120}| Text |\n|:{'-' * 120}|:-----:|\n|  Tin  ore{' ' * 120}|      |\n> | a{' ' * 120}|b|",
            "| Name | Text |\n|:---|:---:|\n| Tin  ore | |\n> | a |b|",
        ),
        (f'{{"port":2222,"image":"{"A" * 300}"}}', '{"port":2222,"image":"…"}'),
        (f'{{"image":"{"A" * 300}"}}', ""),
        (f'x {{"vector":[{"0.123456," * 40}1]}}', "x …"),
    ],
)
def test_noise_is_left_out_and_the_lines_stay(text: str, expected: str) -> None:
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "```\n---\n<!-- a -->\n```",
        "`<!-- a -->` is a comment",
        "<!-- not closed",
        "Title\n===",
        "中文没有空格" * 60,
        "12.50,groceries," * 20,
        "| a |\n|" + "-" * 300 + "|",
        "https://example.com/" + "a" * 150,
        "```\n| id   | name |\n+------+------+\n```",
        "| Name      | Text |\n|-----------|------|\n| Tin ore   |      |",
        '{"error":"'
        + "refused_" * 20
        + '","line":"main.py>connect()","retry":3,"ok":false,"id":null}',
        '{"名":"数据库","u":"https://a.example/'
        + "b" * 120
        + '","n":-1.5e3,"say":"\\"x\\"","p":"C:\\\\a"}',
        '{"state":"{' + '\\"a\\":\\"b\\",' * 20 + '}","big machine":1,' + '"key":2,' * 30 + "}",
    ],
)
def test_what_has_a_meaning_stays(text: str) -> None:
    assert cleaned(text) == text


def test_an_empty_list_item_is_no_text() -> None:
    assert chunk_text("-\n\n1.\n") == []
    assert texts_of("# A\ntext\n\n## Sources\n-", 100) == ["# A\ntext\n\n## Sources"]
