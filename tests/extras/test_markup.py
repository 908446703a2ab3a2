"""Org-mode, reStructuredText and plain text."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.documents.chunker import Chunk, chunks_of
from hybrid_memory.documents.formats import format_of
from hybrid_memory.documents.markdown import Markdown
from hybrid_memory.extras.formats import org, rst

ORG = """\
#+TITLE: The plan of
#+title: the house
#+DATE: [2026-01-05 Mon]
#+FILETAGS: :work:home:
#+STARTUP: overview
#+AUTHOR: Ann
:PROPERTIES:
:ID: 20260105T1200
:ROAM_ALIASES: "House plan" hp
:END:
Bricks and mortar.

* TODO [#A] Call [[https://example.com][Ann]] [1/3] :phone:
SCHEDULED: <2026-01-06 Tue>
:LOGBOOK:
CLOCK: [2026-01-05 Mon 10:00]--[2026-01-05 Mon 11:00] => 1:00
:END:
About the roof.
** The roof
# a note to myself
Slate.
* Notes about TODO lists
None yet.
"""

RST = """\
==========
 The plan
==========

:Author: Ann
   and Bob
:Date: 2026-01-05
:Tags: work, home

Bricks.

The roof
--------

Slate.

.. a note to myself

   in two parts

-----

Beams
.....

See ``beam.py`` and `more <https://example.com>`_.

The cellar
----------

.. note::
   Wet.
"""


def read_text(
    text: str, name: str, size: int = 512, overlap: int = 0
) -> tuple[dict[str, Any], list[Chunk]]:
    """The metadata and the chunks of a text in a file of this name."""
    parsed = format_of(name).parsed(text, {})  # type: ignore[attr-defined]
    title = str(parsed.metadata.get("title", ""))
    return dict(parsed.metadata), chunks_of(
        parsed.text, parsed.skipped, size, overlap, title, format_of(name).structure
    )  # type: ignore[attr-defined]


def places(chunks: list[Chunk]) -> list[tuple[str, int, int]]:
    return [(chunk.heading_path, chunk.start_line, chunk.end_line) for chunk in chunks]


def test_headlines_of_org_make_heading_paths_without_state_priority_progress_and_tags() -> None:
    assert places(read_text(ORG, "a.org")[1]) == [
        ("The plan of the house", 11, 11),
        ("The plan of the house > Call Ann", 13, 18),
        ("The plan of the house > Call Ann > The roof", 19, 21),
        ("The plan of the house > Notes about TODO lists", 22, 23),
    ]


def test_keywords_of_org_are_metadata_and_no_text() -> None:
    metadata, chunks = read_text(ORG.replace("\n", "\r\n"), "a.org")
    assert metadata == {
        "title": "The plan of the house", "date": "2026-01-05 Mon", "author": "Ann",
        "aliases": ["House plan", "hp", "id:20260105T1200"], "tags": ["work", "home", "phone"],
    }  # fmt: skip
    text = "\n".join(chunk.text for chunk in chunks)
    assert "Bricks and mortar." in text
    assert not any(
        noise in text
        for noise in ("STARTUP", "FILETAGS", "20260105T1200", "LOGBOOK", "CLOCK", "note to myself")
    )


def test_source_blocks_of_org_stay_whole_with_what_elsewhere_is_noise() -> None:
    code = "#+begin_src sh\n# set up\n#+title: no keyword\nmake all\n#+end_src"
    _, chunks = read_text(
        f"* Build\n{'Some words before it. ' * 4}\n{code}\nAfter it.", "a.org", 110
    )
    assert [chunk.text for chunk in chunks if "make all" in chunk.text] == [f"{code}\nAfter it."]


def test_source_block_of_org_that_is_not_closed_is_text() -> None:
    assert [chunk.text for chunk in read_text("#+begin_src\na\n\n# noise\nb", "a.org")[1]] == [
        "#+begin_src\na\n\n\nb"
    ]


def test_later_rows_of_an_org_table_repeat_its_header() -> None:
    rows = "".join(f"| row{number} | value of {number} |\n" for number in range(12))
    _, chunks = read_text(f"| name | value |\n|------+-------|\n{rows}", "a.org", 100)
    assert len(chunks) > 2
    assert all(chunk.text.startswith("| name | value |\n|------+-------|\n") for chunk in chunks)


def test_a_table_in_a_source_block_of_org_is_code() -> None:
    assert len(org.blocks("\n#+begin_src\n| a |\n#+end_src\n| b |\n")) == 2


def test_titles_of_rst_have_the_levels_in_which_their_adornments_appear() -> None:
    assert places(read_text(RST, "a.rst")[1]) == [
        ("The plan", 1, 10),
        ("The plan > The roof", 12, 21),
        ("The plan > The roof > Beams", 23, 26),
        ("The plan > The cellar", 28, 32),
    ]


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("Title\n=====", ["Title"]),
        ("Short\n===", []),
        ("A longer title\n=====", ["A longer title"]),
        ("in a paragraph\nTitle\n=====", []),
        ("Title\n=====\nNext\n----", ["Title", "Next"]),
        ("=====\nTitle\n-----", []),
        ("::\n\n  Title\n  =====", []),
        ("=====  =====\nA      B\n=====  =====", []),
        ("The :ref:`roof <x>` of ``a_b``\n==============================", ["The roof of a_b"]),
    ],
)
def test_titles_of_rst_are_those_of_docutils(text: str, titles: list[str]) -> None:
    assert [heading.title for heading in rst.headings(f"\n{text}")] == titles


def test_plain_text_has_underlined_titles_beside_the_headings_of_markdown() -> None:
    text = "The plan\n========\n\nBricks.\n\nThe roof\n--------\nSlate.\n\n### Beams\n\nOak.\n"
    assert places(read_text(text, "a.TXT")[1]) == [
        ("The plan", 1, 4), ("The plan > The roof", 6, 8), ("The plan > The roof > Beams", 10, 12),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "```\n\nTitle\n=====\n\n```",
        "a paragraph\nTitle\n=====",
        "Name   Age\n----------\nAnn   7",
        "- item\n------",
    ],
)
def test_what_is_underlined_in_plain_text_and_is_no_title(text: str) -> None:
    assert rst.PLAIN.headings(text.split("\n")) == []


LINES = {
    "a.org": ["* Head :tag:", "** TODO Sub", "#+begin_src", "#+end_src", "#+title: x", "| a | b |", "|---+---|", ": fixed", "# no", ":END:"],
    "a.rst": ["Head", "====", "----", "::", "  indented", ".. comment"],
    "a.txt": ["Head", "====", "----", "# Head", "```", "| a | b |", "|---|---|"],
}  # fmt: skip
FORMATS = {"a.org": org.FORMAT, "a.rst": rst.FORMAT, "a.txt": rst.PLAIN}


@pytest.mark.parametrize("name", LINES)
@given(data=st.data(), size=st.sampled_from([20, 60, 512]), overlap=st.sampled_from([0, 15]))
@settings(deadline=None)
def test_lines_of_a_chunk_hold_its_text(
    name: str, data: st.DataObject, size: int, overlap: int
) -> None:
    lines = data.draw(
        st.lists(st.sampled_from([*LINES[name], "", " ", "some words here. And more."]))
    )
    text = "\n" + "\n".join(lines)
    kept = FORMATS[name].structure(text).text.split("\n")[1:]
    assert len(kept) == len(text.split("\n")) - 1
    for chunk in read_text(text[1:], name, size, overlap)[1]:
        own = chunk.text.removeprefix(chunk.header)
        assert len(chunk.text) <= size
        assert own in "\n".join(kept[chunk.start_line - 1 : chunk.end_line])
        assert chunk.end_line - chunk.start_line == own.count("\n")


@pytest.mark.parametrize(
    ("name", "text", "titles", "targets", "tags"),
    [
        (
            "plan.org",
            "# a comment #no\n* A headline\n#+begin_src c\n#define X [[no]]\n#+end_src\nSee [[Note]]. #tag\n",
            (),
            ["Note"],
            ("tag",),
        ),
        (
            "plan.rst",
            "====\nPlan\n====\n\nSee [[Note]], ``#no [[no]]``. #tag\n\n# no title\n",
            ("Plan",),
            ["Note"],
            ("tag",),
        ),
        ("plan.rst", "Plan\n~~~~\n\nText\n\n#tag\n", ("Plan",), [], ("tag",)),
        ("plan.txt", "Two\nlines\n=====\n\n[[Note]]\n\nPart\n----\n", (), ["Note"], ()),
        (
            "plan.excalidraw.md",
            "---\nexcalidraw-plugin: parsed\n---\n# Text Elements\n[[Note]] ^abcdefgh\n\n# Drawing\n```json\n[[no]]",
            (),
            ["Note"],
            (),
        ),
    ],
)
def test_titles_links_and_tags_are_those_of_the_format(
    name: str, text: str, titles: tuple[str, ...], targets: list[str], tags: tuple[str, ...]
) -> None:
    format = format_of(name)
    assert isinstance(format, Markdown)
    found = format.links(format.parsed(text, {}))
    assert found.titles == titles
    assert [link.target for link in found.links] == targets
    assert found.tags == tags
