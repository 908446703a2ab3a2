import dataclasses
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_memory.documents import chunker
from hybrid_memory.documents.chunker import LONGEST_PATH, LONGEST_WAIT, Chunk
from hybrid_memory.documents.front_matter import front_matter
from hybrid_memory.documents.markdown import chunk_text
from hybrid_memory.documents.passages import passages
from hybrid_memory.documents.structure import below, markdown_structure

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
FRAGMENTS = [
    *("\n", "\n\n", "\r\n", "\r", " ", "\t", "    ", "\u2028", "\x1c", "\ufeff"),
    *("# ", "## ", "\n# One\n", "\n## Two ##\n", "\n#### Four\n", "\n#\n", "#"),
    *("\n```\n", "\n~~~~\n", "\n- ```\n", "```", "\n---\n", "---\nkey: value\n---\n"),
    *("<!--", "-->", "\n| a | b |\n|---|---|\n", "| c | d |\n", "| c", "|", "\n- ", "\n> "),
    *(". ", "! B"),
    *("e.g. ", "x" * 201, "a", "word", "two words", "x" * 30, "中文没有空格。", "ภาษาไทยไม่มี"),
    *("\u0301", "e\u0301", "\u200d", FAMILY, "\U0001f1e9", "\ud800"),
]
texts = st.lists(
    st.sampled_from(FRAGMENTS) | st.characters(exclude_categories=()), max_size=60
).map("".join)
unfenced = texts.map(lambda text: re.sub("[`~]", "", text))
sizes = st.integers(1, 80).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size - 1)))


def lines_of(text):
    return re.split("\r\n|\r|\n", text.removeprefix("\ufeff"))


def texts_of(*args):
    return [chunk.text for chunk in chunk_text(*args)]


def places(chunks):
    return [(chunk.heading_path, chunk.text) for chunk in chunks]


# What a chunk is


def test_chunk_is_a_frozen_dataclass_that_needs_only_text_heading_and_index() -> None:
    chunk = Chunk("a", "b", 0)
    assert dataclasses.astuple(chunk) == ("a", "b", 0, "", 1, 1, "", None, None, "")
    names = "text heading index heading_path start_line end_line header date role items"
    assert [field.name for field in dataclasses.fields(Chunk)] == names.split()
    with pytest.raises(dataclasses.FrozenInstanceError):
        chunk.text = "c"  # type: ignore[misc]


@pytest.mark.parametrize(
    "text", ["", " \r\n\t\r", "\ufeff", "---\ntitle: x\n---\n", "***\n\n---\n"]
)
def test_blank_text_has_no_chunks(text):
    assert chunk_text(text) == []


def test_each_heading_begins_a_chunk_that_includes_it():
    text = "before\n\n# Setup\nInstall it.\n\n## GPU server\n\nIt hums.\n"
    assert chunk_text(text) == [
        Chunk("before", "", 0, "", 1, 1),
        Chunk("# Setup\nInstall it.", "Setup", 1, "Setup", 3, 4),
        Chunk("## GPU server\n\nIt hums.", "GPU server", 2, "Setup > GPU server", 6, 8),
    ]


def test_blank_lines_inside_stay_and_around_go():
    assert chunk_text("\n\n    code\n\n\nmore  \n \n") == [
        Chunk("    code\n\n\nmore", "", 0, "", 3, 6)
    ]


def test_front_matter_is_counted_but_is_no_text():
    assert chunk_text("---\ntitle: T\n# note: no heading\n---\n\nBody\n") == [
        Chunk("Body", "", 0, "", 6, 6)
    ]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_line_endings_make_no_difference(newline):
    text = "---\na: b\n---\n# One\n\ntext\n```\n# no\n```\n## Two\nmore\n"
    assert chunk_text("\ufeff" + text.replace("\n", newline)) == chunk_text(text) != []


@pytest.mark.parametrize("separator", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
def test_other_separators_end_no_line(separator):
    assert chunk_text(f"a{separator}# b\nc") == [Chunk(f"a{separator}# b\nc", "", 0, "", 1, 2)]


# Headings


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Setup", "Setup"),
        ("   # Indented", "Indented"),
        ("#    Spaces   ", "Spaces"),
        ("## Closed ##", "Closed"),
        ("# C#", "C#"),
        ("# Escaped \\#", "Escaped \\#"),
        ("#", ""),
        ("## ##", ""),
        ("# # #", "#"),
        ("# **Bold** `code`", "**Bold** `code`"),
    ],
)
def test_heading_line(line, heading):
    assert chunk_text(f"before\n{line}\ntext")[1:] == [
        Chunk(f"{line}\ntext", heading, 1, heading, 2, 3)
    ]


@pytest.mark.parametrize(
    "line", ["#hashtag", "####### seven", "    # code", "> # quoted", "＃ wide"]
)
def test_not_a_heading_line(line):
    assert chunk_text(f"before\n{line}\ntext") == [Chunk(f"before\n{line}\ntext", "", 0, "", 1, 3)]


def test_heading_path_follows_levels():
    text = "# A\n1\n### Skipped\n2\n## B\n3\n#### D\n4\n# E\n5\n##\n6\n### F\n7"
    assert [chunk.heading_path for chunk in chunk_text(text)] == [
        *("A", "A > Skipped", "A > B", "A > B > D", "E", "E", "E > F")
    ]


def test_heading_longer_than_a_heading_can_be_is_cut_like_text():
    line = "# " + "word " * 1000
    first, *others = chunk_text(f"# Up\n{line}\nbelow", 512, 50)
    assert first.text.startswith("# Up\n# word")
    assert all(len(chunk.text) <= 512 for chunk in others)
    assert len(first.heading) <= LONGEST_PATH
    assert first.heading.endswith("word…")
    assert others[-1].text.endswith("\nbelow")
    assert {chunk.heading for chunk in others} == {first.heading}


@pytest.mark.parametrize(
    ("headings", "path"),
    [
        (["a" * 148, "b" * 149], "a" * 148 + " > " + "b" * 149),
        (["a" * 149, "b" * 149], "a" * 147 + "… > " + "b" * 149),
        (["Top", "a " * 200, "b " * 50, "c"], "a " * 96 + "a… > " + "b " * 49 + "b > c"),
        (["Top", "ab " * 101], "ab " * 99 + "ab…"),
        (["Top", "\u4e2d" * 400], "\u4e2d" * 299 + "…"),
    ],
)
def test_heading_path_that_is_too_long_keeps_its_nearest_headings(headings, path):
    text = "\n".join(f"{'#' * level} {heading}" for level, heading in enumerate(headings, 1))
    [chunk] = chunk_text(f"{text}\ntext", 5000)
    assert len(path) <= LONGEST_PATH
    assert chunk.heading_path == path


# Fences


@pytest.mark.parametrize(
    "fence", ["```\n# no\n```", "````\n```\n# no\n````", "```\n    ```\n# no\n```", "- ```\n  # no"]
)
def test_heading_in_fence_does_not_split(fence):
    assert places(chunk_text(f"# A\n{fence}\n# B\nb")) == [("A", f"# A\n{fence}"), ("B", "# B\nb")]


# Headings without text


def test_headings_without_text_join_the_next_chunk_under_its_heading():
    assert chunk_text("# A\n\n## B\n\n### C\ntext\n## D\nmore") == [
        Chunk("# A\n\n## B\n\n### C\ntext", "C", 0, "A > B > C", 1, 6),
        Chunk("## D\nmore", "D", 1, "A > D", 7, 8),
    ]


def test_headings_at_the_end_go_with_the_text_before_them():
    assert chunk_text("# A\ntext\n# B\n\n## C  \n\n") == [
        Chunk("# A\ntext\n# B\n\n## C", "A", 0, "A", 1, 5)
    ]


def test_headings_alone_are_a_chunk_so_that_they_are_found():
    assert chunk_text("# A\n## B\n") == [Chunk("# A\n## B", "B", 0, "A > B", 1, 2)]


def test_heading_does_not_wait_for_text_beyond_a_thousand_blank_lines():
    assert chunk_text("# A\n" + "\n" * LONGEST_WAIT + "text") == [
        Chunk("# A", "A", 0, "A", 1, 1),
        Chunk("text", "A", 1, "A", LONGEST_WAIT + 2, LONGEST_WAIT + 2),
    ]


def test_outline_of_many_headings_is_no_single_chunk():
    chunks = chunk_text("## Heading\n" * 1000)
    assert sum(chunk.text.count("##") for chunk in chunks) == 1000
    assert all(len(chunk.text) <= 512 for chunk in chunks)


# Overflow and overlap


@pytest.mark.parametrize(
    ("text", "size", "overlap", "chunks"),
    [
        ("12345\n6789.\nAbcde", 11, 0, ["12345\n6789.", "Abcde"]),
        ("12345\n678901\nabcde", 11, 0, ["12345", "678901", "abcde"]),
        ("12345\n\n\n901\n\n\n", 11, 0, ["12345\n\n\n901"]),
        ("12345\n\n\n9012\n\n\n", 11, 0, ["12345", "9012"]),
        # Headings count
        ("# H\n1234567\n1234567\n", 12, 0, ["# H\n1234567", "1234567"]),
        ("# A\n## B\nOne two. Three. Four.", 24, 0, ["# A\n## B\nOne two. Three.", "Four."]),
        ("# A\n\n---\n\n## B\ntext", 100, 0, ["# A\n\n\n\n## B\ntext"]),
        ("# Head\naaa bbb ccc ddd", 14, 0, ["# Head\naaa bbb", "ccc ddd"]),
        ("# A\nOne one. Two.\n\n# B\n\n## C", 17, 0, ["# A\nOne one.", "Two.\n\n# B\n\n## C"]),
        # What is carried: whole sentences of the section, where the next one fits
        ("One two three.\nSix seven eight.", 25, 10, ["One two three.", "Six seven eight."]),
        (
            "One. Four five.\nTwenty-two characters.",
            33,
            11,
            ["One. Four five.", "Four five.\nTwenty-two characters."],
        ),
        (
            "One. Four five.\nTwenty-two characters.",
            32,
            11,
            ["One. Four five.", "Twenty-two characters."],
        ),
        ("# A\nlast words\n# B\nfirst words", 100, 50, ["# A\nlast words", "# B\nfirst words"]),
        ("一一一一。三四。五五五五。", 9, 4, ["一一一一。三四。", "三四。五五五五。"]),
        ("aaaa bbb \u0301cc\nddd ddd", 13, 4, ["aaaa bbb \u0301cc", "ddd ddd"]),
        # Lines longer than a chunk
        ("Aa bb\nCcc ddd ee\nFf", 10, 4, ["Aa bb", "Ccc ddd ee", "Ff"]),
        ("alpha beta gamma   delta epsilon", 12, 0, ["alpha beta", "gamma", "delta", "epsilon"]),
        ("alpha beta gamma", 10, 0, ["alpha beta", "gamma"]),
        ("ab " + "x" * 25, 10, 0, ["ab", "x" * 10, "x" * 10, "x" * 5]),
        ("aaaa bbbb cc\ndd\nee", 9, 0, ["aaaa bbbb", "cc\ndd\nee"]),
        (f"a\n{' ' * 50}text{' ' * 50}more", 10, 0, ["a", "text", "more"]),
        ("---\na: b\n---\n    code", 512, 50, ["    code"]),
        ("aaa bbb \u0301c ddd", 8, 0, ["aaa bbb", " \u0301c ddd"]),
        ("a \u0301", 1, 0, ["a", "\u0301"]),
    ],
)
def test_where_chunks_begin_and_end(text, size, overlap, chunks):
    assert texts_of(text, size, overlap) == chunks


def test_last_sentence_is_carried_into_the_next_chunk():
    text = "One two three. Four five.\nSix seven eight nine ten eleven."
    assert chunk_text(text, 45, 12) == [
        Chunk("One two three. Four five.", "", 0, "", 1, 1),
        Chunk("Four five.\nSix seven eight nine ten eleven.", "", 1, "", 1, 2),
    ]


def test_change_does_not_ripple_beyond_its_section():
    def document(line):
        section = "lorem ipsum dolor\n" * 30
        return f"# A\n{section}# B\n{line}\n{section}# C\n{section}"

    before, after = (
        chunk_text(document(line), 100, 20) for line in ("old", "new and longer than it was")
    )
    assert places(before) != places(after)
    for heading in ("A", "C"):
        assert [c for c in places(before) if c[0] == heading] == [
            c for c in places(after) if c[0] == heading
        ]


@pytest.mark.parametrize(
    ("size", "overlap", "named"), [(0, 0, "chunk_size"), (10, -1, "overlap"), (10, 10, "overlap")]
)
def test_sizes_without_room_for_text_are_refused(size, overlap, named):
    with pytest.raises(ValueError, match=f"^{named} must be"):
        chunk_text("text", size, overlap)


@pytest.mark.parametrize(
    "character",
    [
        *("e\u0301", "\u0915\u094d\u200d\u0937"),
        *("\U0001f44d\U0001f3fd", FAMILY, "\u1112\u1161\u11ab", "\U0001f1e9\U0001f1ea", "\u0301"),
        "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    ],
)
@pytest.mark.parametrize("offset", range(3))
def test_characters_stay_whole(character, offset):
    line = "x" * offset + f"{character}-" * 20
    chunks = texts_of(line, 10, 0)
    assert "".join(chunks) == line
    ends = {offset + (len(character) + 1) * i + j for i in range(21) for j in (-1, 0)} | set(
        range(offset + 1)
    )
    length = 0
    for chunk in chunks:
        length += len(chunk)
        assert length in ends


@pytest.mark.parametrize(
    "character", ["a" + "\u0301" * 99, "\U0001f469\u200d" * 50, "\U0001f1e9" * 100]
)
def test_character_longer_than_a_chunk_is_cut(character):
    assert texts_of(character, 10, 0) == [character[i : i + 10] for i in range(0, 100, 10)]


# Properties


def structure_of(text):
    """The structure of the text that is cut, and the number of the lines of front matter."""
    plain = "\n".join(lines_of(text))
    skipped = front_matter(plain).lines
    return markdown_structure(below(plain, skipped)), skipped


@settings(deadline=None)
@given(texts, sizes)
@example("---\nkey: value\n---\n# x", (4, 1))
@example(" # a", (1, 0))
@example("   ## ab\n\n   # c", (2, 1))
@example("```- -  - ", (1, 0))
@example("\u2028\nab\n---\n", (3, 0))
@example(f"{'x' * 201}\n- ", (2, 0))
def test_lines_of_a_chunk_hold_its_text(text, size):
    structure, skipped = structure_of(text)
    lines = [""] * skipped + structure.text.split("\n")[1:]
    assert len(lines) == max(len(lines_of(text)), skipped + 1)
    for chunk in chunk_text(text, *size):
        own = chunk.text.removeprefix(chunk.header)
        assert chunk.end_line - chunk.start_line == own.count("\n")
        assert own in "\n".join(lines[chunk.start_line - 1 : chunk.end_line])
        assert (
            lines[chunk.start_line - 1].endswith(own.split("\n")[0])
            or chunk.start_line == chunk.end_line
        )
        assert own.split("\n")[0].strip()
        assert own.split("\n")[-1].strip()
        if own != chunk.text:
            header, delimiters, end = chunk.header.split("\n")
            assert (set(delimiters), end) == ({"|", "-"}, "")
            assert any(
                " ".join(header.split()) in " ".join(line.split())
                for line in lines[: chunk.start_line - 1]
            )


@settings(deadline=None)
@given(texts, sizes)
@example(" # a", (1, 0))
@example("   # ab", (2, 0))
def test_every_character_but_space_and_lines_of_tables_is_in_a_chunk(text, size):
    text, headings, blocks, *_ = structure_of(text)[0]
    covered, before = 0, -1

    def says_nothing(part):
        return not part.translate(dict.fromkeys(map(ord, "|:->"))).strip()

    sections = chunker._sections(text, headings)
    for part in chunker._parts(text, sections, size[0], ""):
        for begin, end, *_ in passages(text, part, *size, blocks):
            assert before < begin < end
            assert covered - begin <= size[1]
            assert says_nothing(text[covered:begin])
            before, covered = begin, max(covered, end)
    assert says_nothing(text[covered:])


@settings(deadline=None)
@given(texts, sizes)
def test_chunks_have_their_size_and_are_numbered_in_order_of_their_place(text, size):
    chunks = chunk_text(text, *size)
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    starts = [chunk.start_line for chunk in chunks]
    assert starts == sorted(starts)
    assert all(chunk.text.strip() and len(chunk.text) <= size[0] for chunk in chunks)
    assert chunks == chunk_text(text.replace("\r\n", "\n").replace("\r", "\n"), *size)


@settings(deadline=None)
@given(unfenced, unfenced, sizes)
def test_section_is_chunked_the_same_whatever_stands_before_it(one, other, size):
    def section(before):
        text = f"# First\n{before.replace('<!--', '')}\nend\n# Last\n" + "some words and\n" * 8
        return [place for place in places(chunk_text(text, *size)) if place[0] == "Last"]

    assert section(one) == section(other) != []


def test_a_chunk_of_closing_tags_alone_is_none() -> None:
    text = f"<Card>\n  {'Kettles. ' * 12}\n  </Card>\n\n# Two\n\nA.\n\n" + "  </Card>\n" * 9
    chunks = chunk_text(text, 60, 0)
    assert chunks[-1].text.startswith("# Two\n\nA.")  # what follows it would be another chunk
    assert chunks[-1].end_line < 15
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert chunk_text("</Card>\n\n</Cards>\n") == []
    assert len(chunk_text("</Card> is closed here")) == 1


def test_a_row_longer_than_a_chunk_repeats_its_first_cell_below_the_header():
    words = " ".join(f"word{number}" for number in range(120))
    text = f"| Host | Notes |\n|---|---|\n| orion | {words} |\n| vega | b |"
    first, second = chunk_text(text)
    assert first.header == ""
    assert second.header == "| Host | Notes |\n|---|---|\n| orion | … "
    assert second.text.startswith(second.header + "word")
    assert second.text.endswith("|\n| vega | b |")
    assert (second.start_line, second.end_line) == (3, 4)
