import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid_memory.documents.markdown import front_matter

NOTE = """---
# written by hand
Title: "GPU: setup"
tags: [gpu, '#ssh', home lab]
date: 2026-01-05
draft: false
rating: 4
related:
  - memory/2026-01-04.md
  - "port: 2222"   # the usual one
summary: >-
  How to reach it
  from outside.

  And from inside.
server:
  host: 10.0.0.7
  ports: [22, 2222]
---

# GPU server
"""
PIECES = [
    *(
        "---",
        "...",
        "\n",
        "\n---\n",
        "\r\n",
        "\r",
        "\ufeff",
        "\ud800",
        "\x85",
        "\u2028",
        "9" * 5000,
        "1e999",
    ),
    *(
        "key: ",
        "tags: ",
        "\n- ",
        "\n  - ",
        "\n  ",
        "#",
        " #",
        ":",
        ": ",
        ",",
        "|",
        ">",
        "[",
        "]",
        "{",
        "}",
        "&",
        "*",
    ),
    *('"', "'", "\\", "a", "word", "1", ".", "-", "~", "true", " "),
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=()), max_size=40).map(
    "".join
)


def metadata(body):
    found, lines, _ = front_matter(f"---\n{body}\n---\n")
    assert lines == body.count("\n") + 3
    return found


def test_note_with_everything():
    assert front_matter(NOTE)[:2] == (
        {
            "title": "GPU: setup",
            "tags": ["gpu", "ssh", "home lab"],
            "date": "2026-01-05",
            "draft": False,
            "rating": 4,
            "related": ["memory/2026-01-04.md", "port: 2222"],
            "summary": "How to reach it from outside.\nAnd from inside.",
        },
        19,
    )


# Where it begins and ends


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\na: b\n---", 3),
        ("---\na: b\n---\n", 3),
        ("---\na: b\n...\ntext", 3),
        ("---  \na: b\n---\t\ntext", 3),
        ("\ufeff---\na: b\n---\n", 3),
        ("---\r\na: b\r\n---\r\ntext", 3),
        ("---\ra: b\r---\rtext", 3),
        ("---\n---\ntext", 2),
        ("---\n\n---\ntext", 3),
        ("---\na: |\n  ---\n  ...\n---\ntext\n---\n", 5),
    ],
)
def test_front_matter_takes_its_lines(text, lines):
    assert front_matter(text)[1] == lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "---",
        "---\n",
        "---\na: b\n",
        "---\na: b\n ---\n",
        " ---\na: b\n---\n",
        "\n---\na: b\n---\n",
        "----\na: b\n----\n",
        "--- a: b\n---\n",
        "...\na: b\n---\n",
        "+++\na = 1\n+++\n",
        "text\n---\na: b\n---\n",
        "\ufeff\ufeff---\na: b\n---\n",
        "---\n# Heading\n---\n",
        "---\nSome prose.\n---\n",
        "---\nSome prose.\na: b\n---\n",
        "---\na: b\nSome prose.\n---\n",
        "---\nWhat we found there: nothing.\n---\n",
        "---\nhttps://example.com\n---\n",
        "---\n12:30\n---\n",
        "---\n- item\n- a: b\n---\n",
        "---\n  indented: text\n---\n",
        "---\n**Note**: bold\n---\n",
        "---\n| a: | b |\n---\n",
        "---\n> quote: d\n---\n",
        "---\n[link]: /url\n---\n",
        "---\n`code`: x\n---\n",
        "---\na: b\n-no item\n---\n",
        "---\n: b\n---\n",
    ],
)
def test_what_is_no_front_matter_is_left_to_the_text(text):
    assert front_matter(text) == ({}, 0, 0)


# Values


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("text", "text"),
        ("two words", "two words"),
        ("It's Ann's", "It's Ann's"),
        ("GPU: setup", "GPU: setup"),
        ("https://example.com/#top", "https://example.com/#top"),
        ("text # comment", "text"),
        ("C#", "C#"),
        ('"quoted # text"', "quoted # text"),
        ('"a \\"b\\" \\\\ c" # comment', 'a "b" \\ c'),
        ("'it''s'", "it's"),
        ("'C:\\new'", "C:\\new"),
        ('"open', '"open'),
        ('"one" and "two"', '"one" and "two"'),
        ('""', ""),
        ("'4'", "4"),
        ("4", 4),
        ("-4", -4),
        ("0", 0),
        ("2.5", 2.5),
        ("-0.5", -0.5),
        ("1.10", "1.10"),
        ("007", "007"),
        ("1_000", "1_000"),
        ("1.2.3", "1.2.3"),
        ("+49", "+49"),
        ("٣", "٣"),
        ("9" * 5000, "9" * 5000),
        ("nan", "nan"),
        ("inf", "inf"),
        ("1e5", "1e5"),
        ("true", True),
        ("False", False),
        ("yes", "yes"),
        ("2026-01-05", "2026-01-05"),
        ("2026-01-05 12:30:00", "2026-01-05 12:30:00"),
        ("-dash", "-dash"),
        ("日本語", "日本語"),
        ("[]", []),
        ("[a]", ["a"]),
        ("[a, 2, true, 'b, c', \"d\"] # comment", ["a", 2, True, "b, c", "d"]),
        ("[don't, a#b, ~, x y]", ["don't", "a#b", "x y"]),
        ("[\n  a,\n  b\n]", ["a", "b"]),
        ("[a,\n  # comment, x\n  b]", ["a", "b"]),
        ("\n- a\n- 2\n", ["a", 2]),
        ("\n  - a\n\n  # comment\n  - 'b'\n", ["a", "b"]),
        (" # comment\n  - a", ["a"]),
        ("\n- a: b\n  c: d\n- e", ["e"]),
        ("\n-\n- a", ["a"]),
        ("\n- one\n  two\n- 'three\n\n  four'", ["one two", "three four"]),
        ("\n  - a\n  - - b\n    - c\n  - d: e\n    f:\n    - g", ["a"]),
        ("one\n  two\n  three", "one two three"),
        ("one\n  two: three", "one two: three"),
        ("one\n  - two", "one - two"),
        ("\n  one\n  two", "one two"),
        ('"one\n  two"', "one two"),
        ("|\n  one\n    two\n\n  three\n", "one\n  two\n\nthree"),
        ("|- # comment\n  # one", "# one"),
        (">\n  one\n  two\n\n\n  three", "one two\n\nthree"),
        (">2+\n  a: b", "a: b"),
        ("|", ""),
    ],
)
def test_value(source, value):
    found = metadata(f"key: {source}")["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "source",
    [
        *(
            "",
            "~",
            "null",
            "Null",
            "# comment",
            "&anchor x",
            "*alias",
            "!!str 4",
            "{a: b}",
            "@at",
            "`code`",
            "%x",
            "[a, [b]]",
        ),
        *(", a", "[a", "[a] b, c", "[{a: b}]", "\n  a: b\n  c:\n    - d", "| a | b |"),
    ],
)
def test_value_that_is_not_understood_is_skipped_alone(source):
    assert metadata(f"before: 1\nkey: {source}\nafter: 2") == {"before": 1, "after": 2}


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("Title: x", "title"),
        ("due date: x", "due date"),
        ("last modified by: x", "last modified by"),
        ('"quoted": x', "quoted"),
        ("og:image: x", "og:image"),
        ("key : x", "key"),
        ("key:\tx", "key"),
        ("2fa: x", "2fa"),
        ("標題: x", "標題"),
    ],
)
def test_key(line, key):
    assert metadata(line) == {key: "x"}


def test_key_without_a_name_is_skipped():
    assert metadata("'': x") == {}


def test_last_of_two_equal_keys_wins():
    assert metadata("a: 1\nA: 2") == {"a": 2}


@pytest.mark.parametrize(
    ("source", "tags"),
    [
        (" [a, '#b', #c, 2024]", ["a", "b", "c", "2024"]),
        ("\n- a\n- #b\n- 'c d'", ["a", "b", "c d"]),
        (" # comment\n- a", ["a"]),
        (" a", ["a"]),
        (" a b", ["a", "b"]),
        (" a, b c,", ["a", "b c"]),
        (" '#a, b'", ["a", "b"]),
        (" #a #b", ["a", "b"]),
        (" a b # comment", ["a", "b"]),
        (" 1.10", ["1.10"]),
        ("", []),
        (" []", []),
        (" '#'", []),
    ],
)
def test_tags_are_a_list_of_names(source, tags):
    assert metadata(f"Tags:{source}") == {"tags": tags}


# Properties


@given(texts | texts.map("---\n{}\n---\n".format))
@example("---\na: " + "9" * 5000 + "\n---")
@example('---\na: "\\\n---')
def test_any_text_gives_plain_values_and_a_line_count_within_it(text):
    found, lines, _ = front_matter(text)
    assert 0 <= lines <= text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert lines or not found
    for key, value in found.items():
        assert key == key.lower() != ""
        for scalar in value if isinstance(value, list) else [value]:
            assert isinstance(scalar, str | int | float)
            assert not isinstance(scalar, float) or math.isfinite(scalar)


@given(texts)
def test_no_value_hides_the_key_on_the_next_line(text):
    line = re.sub("[\r\n]", " ", text)
    assert metadata(f"a: {line}\nlast: 1")["last"] == 1


WORDS = (
    st.text("abcxyzäö中 ", min_size=1)
    .map(str.strip)
    .filter(lambda word: word not in ("", "true", "false", "null"))
)


@given(
    st.dictionaries(
        st.text("abcxyz", min_size=1).filter(lambda key: key != "tags"),
        WORDS | st.lists(WORDS) | st.integers() | st.booleans(),
    )
)
def test_plain_metadata_comes_back(data):
    def dumped(value):
        if isinstance(value, list):
            return "[" + ", ".join(value) + "]"
        return str(value)

    assert metadata("\n".join(f"{key}: {dumped(value)}" for key, value in data.items())) == data
