"""The structure of markdown that chunks, links, tags and roles are found with."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.documents.code import without_code
from hybrid_memory.documents.structure import (
    Structure,
    markdown_structure,
    outline_structure,
    plain_structure,
)


def blocks_of(structure: Structure) -> list[str]:
    return [structure.text[block.start : block.end] for block in structure.blocks]


FENCE = "    ```sh\n    make #install\n    ```"
TABLE = "    | a | b |\n    |---|---|\n    | 1 | 2 |"


@pytest.mark.parametrize("block", [FENCE, TABLE])
@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("<Step>", "</Step>"),  # a component of MDX
        ('  <Tab title="x">\n\n', "\n  </Tab>"),
        ("- item\n", "- item"),
        ("1. item\n\n", "\ntext"),
        ("> - quote\n\n", ""),
    ],
)
def test_a_fence_or_a_table_that_is_indented_as_code_is_a_block(
    above: str, below: str, block: str
) -> None:
    assert blocks_of(markdown_structure(f"\n{above}\n{block}\n{below}")) == [block]


@pytest.mark.parametrize(
    "text",
    [
        "    ```sh\n    make",  # never closed
        "    ```sh\nmake\n    ```",  # text that is indented less comes first
        "    ```sh\n    make\n    ~~~",
        "    | a | b |\n    | 1 | 2 |",
        "text\n    ```sh",
    ],
)
def test_what_is_indented_as_code_and_is_no_block(text: str) -> None:
    assert blocks_of(markdown_structure(f"\n{text}\n\n# Title\n")) == []
    assert [heading.title for heading in markdown_structure(f"\n{text}\n\n# Title\n").headings] == [
        "Title"
    ]


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("> - ```\n>   a\n>   ```\n> text", "> - ```\n>   a\n>   ```"),
        ("- ```\n  a\n\ntext", "- ```\n  a\n"),  # the end of the item closes it
        # the end of the text closes it
        ("text\n| a | b |\n|---|---|\n| 1 | 2 |\n\ntext", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("> | a |\n> |---|\n> | 1 |\ntext", "> | a |\n> |---|\n> | 1 |\ntext"),
        ("| a |\n---\n| 1 |\n- item", "| a |\n---\n| 1 |"),
    ],
)
def test_code_and_tables_end_where_their_containers_end(text: str, block: str) -> None:
    assert blocks_of(markdown_structure(f"\n{text}")) == [block]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("- item\n\n  ***\n\n  more", "- item\n\n\n\n  more"),
        ("text <!-- a --> and `<!-- b -->` <!-- c", "text  and `<!-- b -->` <!-- c"),
        ("a <!-- b\nc\nd --> e <!-- f -->", "a \n\n e "),
        ("```\n<!-- a -->\n***\n```", "```\n<!-- a -->\n***\n```"),
        ("<!-- ```\n# no\n-->\n# Title", "\n\n\n# Title"),
        ("a\n\n---\n\nb", "a\n\n\n\nb"),
        ("- ```\n  a\n<!-- b -->\ntext", "- ```\n  a\n\ntext"),
        ("# Title\n-\n* \n\n3.\n\n- a\n\n  +", "# Title\n\n\n\n\n\n- a\n\n"),
        ("text\n-", "text\n-"),  # an underline
        ("text\n*\n\n> -", "text\n*\n\n> -"),
        ("```\n-\n```\n\n- [ ]", "```\n-\n```\n\n- [ ]"),
    ],
)
def test_rules_and_comments_are_removed_outside_code_and_quotes(text: str, kept: str) -> None:
    assert markdown_structure(f"\n{text}").text == f"\n{kept}"
    assert plain_structure(f"\n{text}").text == f"\n{text}"


def test_a_padded_row_keeps_its_indentation() -> None:
    row = "      | a" + " " * 80 + "| b |"
    assert markdown_structure(f"\n- item\n{row}").text == "\n- item\n      | a | b |"


def test_indentation_is_depth_in_an_outline() -> None:
    text = "\n# Page\n\t- [[a]]\n\t\t- ```\n\t\t  [[b]]\n\t\t  ```\n\t\t- [[c]] `[[d]]`"
    prose = without_code(outline_structure(text))
    assert ["[[a]]" in prose, "[[b]]" in prose, "[[c]]" in prose, "[[d]]" in prose] == [
        True,
        False,
        True,
        False,
    ]
    assert "[[a]]" not in without_code(markdown_structure(text))


LINES = [
    *("Title", "two `words`", "", "", "    code", "\ttab", "---", "===", "***", "# H", "## I ##"),
    *("- item", "  - inner", "1. one", "> quote", "> - both", "```", "  ```sh", "    ~~~", "~~~"),
    *("| a | b |", "|---|---|", "    | a |", "    |---|", "<!-- c -->", "<!--", "-->", "<Tab>"),
    *("<b>x</b>", "[r]: /u", f"x {'y' * 250} z", "|" + " " * 90 + "|", "-", "- ```"),
]


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(LINES), max_size=12).map("\n".join),
    st.sampled_from([markdown_structure, plain_structure, outline_structure]),
)
def test_parts_are_whole_lines_in_order_and_do_not_overlap(text: str, read) -> None:  # type: ignore[no-untyped-def]
    structure = read(f"\n{text}")
    body = structure.text
    assert body.count("\n") == text.count("\n") + 1
    ends = [match for match in range(len(body) + 1) if body[match : match + 1] in ("\n", "")]
    for parts in (
        [(heading.start, heading.end) for heading in structure.headings],
        [(block.start, block.end) for block in structure.blocks],
        structure.code,
        structure.inline,
    ):
        assert all(start - 1 in ends and end in ends for start, end in parts)
        assert all(before[1] < after[0] for before, after in pairwise(parts))
    inside = [(heading.start, heading.end) for heading in structure.headings]
    for start, end in structure.code:
        assert not any(start <= heading < end for heading, _ in inside)
    assert all(block.start < block.first <= block.end for block in structure.blocks)
