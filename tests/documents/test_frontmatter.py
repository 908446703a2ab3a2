"""The front matter of notes: recovered line by line, with the values that a YAML library reads."""

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hybrid_memory.documents.front_matter import front_matter, value_of
from hybrid_memory.documents.metadata import metadata_of
from hybrid_memory.documents.yaml_values import DEEPEST, scalar
from tests.command import Run, answer

Notes = Callable[..., Path]
PIECES = [
    *("\n", "\n---\n", "\r\n", "\r", "\ufeff", "\ud800", "\x85", "\u2028", "9" * 5000, "1e999"),
    *("key: ", "tags: ", "\n- ", "\n  - ", "\n  ", " ", " #", ": "),
    *"--- ... # : , | > [ ] { } & * \" ' \\ a word 1 . - ~ true".split(),
]
texts = st.lists(st.sampled_from(PIECES) | st.characters(exclude_categories=()), max_size=40).map(
    "".join
)


def metadata(body: str) -> dict[str, Any]:
    found = front_matter(f"---\n{body}\n---\n")
    assert found.lines == body.count("\n") + 3
    return found.metadata


# Where it begins and ends


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("---\na: b\n---", 3),
        ("---\na: b\n...\ntext", 3),
        ("---\ntitle: x\nProse.\n---\n", 4),  # a well-known key counts twice
        ("---  \na: b\n---\t\ntext", 3),
        ("\ufeff---\na: b\n---\n", 3),
        ("---\r\na: b\r\n---\r\ntext", 3),
        ("---\ra: b\r---\rtext", 3),
        ("---\n---\ntext", 2),
        ("---\na: |\n  ---\n  ...\n---\ntext\n---\n", 5),
    ],
)
def test_front_matter_takes_its_lines(text, lines):
    assert metadata_of(text).lines == lines


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---\na: b\n",
        "---\na: b\n ---\n",
        " ---\na: b\n---\n",
        "text\n---\na: b\n---\n",
        "---\n# Heading\n---\n",
        "---\nSome prose.\n---\n",
        "---\nhttps://example.com\n---\n",
        "---\n- item\n- a: b\n---\n",
        "---\n: b\n---\n",
    ],
)
def test_what_is_no_front_matter_is_left_to_the_text(text):
    assert front_matter(text)[:3] == ({}, 0, ())


@pytest.mark.parametrize(
    ("text", "found", "problem"),
    [
        ("---\na: b\nProse.\n---\n", {"a": "b"}, "line 2: most lines from here to line 3"),
        ("---\nProse.\n\nProse.\ntitle: x\n---\n", {}, "line 2: most lines from here to line 5"),
        ("---\ntitle: x\ntags: [a]\n\nProse.\n", {}, "line 1: no line --- closes"),
    ],
)
def test_a_block_that_is_text_is_told_if_it_looks_like_front_matter(text, found, problem):
    assert front_matter(text)[:2] == (found, 0)
    [told] = front_matter(text).problems
    assert told.startswith(problem)


# Recovered line by line

KNOWN = {"title": "My title", "date": "2026-03-04", "tags": ["kept"], "aliases": ["Other name"]}
LINES = "title: My title\ndate: 2026-03-04\ntags: [kept]\naliases:\n  - Other name"
# A line, what is read of it, and whether it is named
VARIANTS = [
    ("Hours of deep sleep: 2.5", {"hours of deep sleep": 2.5}, False),
    ('"Did I sleep well today": yes', {"did i sleep well today": "yes"}, False),
    ("'a: b': c", {"a: b": "c"}, False),
    ("author:ann", {"author": "ann"}, True),
    ("[[Project X]]: active", {"[[project x]]": "active"}, False),
    ("{{title}}: x", {"{{title}}": "x"}, False),
    ("author: {name}", {"author": "{name}"}, False),
    ("a stray line", {}, True),
    ("? a\n: b", {}, True),
    ("https://example.com/a", {}, True),
    ("# a comment", {}, False),
    ("", {}, False),
    ("a: b: c", {"a": "b: c"}, False),
    ('a: "b', {"a": '"b'}, True),
    ("a: 'b' c", {"a": "'b' c"}, False),
    ("a: [b, c", {"a": "[b, c"}, True),
    ("a: *Italic* otter", {"a": "*Italic* otter"}, False),
    ("a: !custom b", {"a": "!custom b"}, False),
    ("a: &x b\nc: *x", {"a": "&x b", "c": "*x"}, True),
    ("a: |2-\n    b\n  c", {"a": "b\nc"}, False),
    ("a: [[Otter]]suffix", {"a": "[[Otter]]suffix"}, False),
    ("a:\n  b: 1\n  stray\n  c: 2", {"a": {"b": 1, "c": 2}}, True),
    ("a:\n\t- b", {"a": ["b"]}, False),
    ("a:\n  - b\n- c", {"a": ["b", "c"]}, False),
    ("a: b\n- c", {"a": "b"}, True),
    ("a: 1\na: 2", {"a": 2}, True),
    ("'': x", {}, True),
]


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize(("lines", "read", "is_named"), VARIANTS)
def test_no_line_spoils_the_others(lines, read, is_named, place):
    known = LINES.split("\n")
    at = {"first": 0, "last": len(known)}[place]
    found = front_matter("\n".join(["---", *known[:at], lines, *known[at:], "---", "text"]))
    assert found.metadata == KNOWN | read
    assert found.lines == len(known) + lines.count("\n") + 3
    assert bool(found.problems) is is_named
    for problem in found.problems:
        number = int(re.match(r"line (\d+): ", problem)[1])
        assert at + 2 <= number <= at + 2 + lines.count("\n")


# Values


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("GPU: setup", "GPU: setup"),
        ('"a \\"b\\" \\\\ c" # comment', 'a "b" \\ c'),
        ("'it''s'", "it's"),
        ('"open', '"open'),
        ('"one" and "two"', '"one" and "two"'),
        ('""', ""),
        ("4", 4),
        ("2.5", 2.5),
        ("1.10", "1.10"),
        ("007", "007"),
        ("1_000", "1_000"),
        ("٣", "٣"),
        ("9" * 5000, "9" * 5000),
        ("nan", "nan"),
        ("true", True),
        ("-dash", "-dash"),
        ("[a, 2, true, 'b, c', \"d\"] # comment", ["a", 2, True, "b, c", "d"]),
        ("[don't, a#b, ~, x y]", ["don't", "a#b", "x y"]),
        ("[[[Note]], b]", ["[[Note]]", "b"]),
        ("[[Note]], [[Other]]", ["[[Note]]", "[[Other]]"]),
        ("\n- [[Note]], [[Other]]", ["[[Note]], [[Other]]"]),
        ('"C:\\new"', "C:\new"),
        ('"\\ud83d\\udc18"', "🐘"),
        ("|", ""),
    ],
)
def test_value(source, value):
    found = metadata(f"key: {source}")["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("Title: x", "title"),
        ("due date: x", "due date"),
        ('"quoted": x', "quoted"),
        ("og:image: x", "og:image"),
        ("key:\tx", "key"),
        ("標題: x", "標題"),
    ],
)
def test_key(line, key):
    assert metadata(line) == {key: "x"}


@pytest.mark.parametrize(
    ("source", "tags"),
    [
        (" [a, '#b', #c, 2024]", ["a", "b", "c", "2024"]),
        ("\n- a\n- #b\n- 'c d'", ["a", "b", "c d"]),
        (" a b", ["a", "b"]),
        (" '#a, b'", ["a", "b"]),
        (" '#'", []),
        ("\n- [a, b]\n- c: d", ["a", "b", "c: d"]),
        (" [a, b", ["a", "b"]),
        ("\n- sea # the big one\n- two", ["sea", "two"]),
        ("\n- sea #the big one", ["sea"]),
        (" null", []),
        (" >\n  sea two", ["sea", "two"]),
    ],
)
def test_tags_are_a_list_of_names(source, tags):
    assert front_matter(f"---\nTags:{source}\nend: 1\n---\n").metadata == {"tags": tags, "end": 1}


# Properties


def assert_plain(value: Any) -> None:
    if isinstance(value, dict):
        assert all(isinstance(key, str) and key == key.lower() for key in value)
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            assert_plain(item)
    else:
        assert isinstance(value, str | int | float)
        assert not isinstance(value, float) or math.isfinite(value)


@given(st.one_of(texts, *(texts.map(f"{line}\n{{}}\n{line}\n".format) for line in ("---", "+++"))))
@example("---\na: " + "9" * 5000 + "\n---")
@example('---\na: "\\\n---')
def test_any_text_gives_plain_values_and_a_line_count_within_it(text):
    found, lines, problems, *_ = metadata_of(text)
    assert 0 <= lines <= text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
    assert lines or not found or problems
    for key, value in found.items():
        assert key == key.lower() != ""
        assert_plain(value)


@given(texts)
def test_no_value_hides_the_key_on_the_next_line(text):
    line = re.sub("[\r\n]", " ", text)
    assert metadata(f"a: {line}\nlast: 1")["last"] == 1
    assert metadata(f"a:\n  b: {line}\nlast: 1")["last"] == 1
    assert metadata(f"tags:\n- {line}\nlast: 1")["last"] == 1


# As a YAML library reads it


def by_pyyaml(block: str) -> Any:
    """What PyYAML reads, but scalars, keys, nulls and tags by the rules of front matter."""
    return read_node(yaml.compose(block, Loader=yaml.SafeLoader))


def read_node(node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        is_text = node.style or node.tag == "tag:yaml.org,2002:str"
        return node.value if is_text else scalar(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [value for item in node.value if (value := read_node(item)) is not None]
    own = {}
    for key, item in node.value:
        value = read_node(item)
        if value is not None:
            own[key.value.strip().lower()] = value
    return own


BLOCKS = [
    "a: |- # comment\n  # one\nb: [a,\n  # comment, x\n  b]",
    "server: {port: 2222,\n  host: atlas,\n  names: [a, 'b c', \"d\"]}",
    "server: {\n  port: 2222,\n  host: atlas\n}\nlast: 1",
    "project:\n  name: boss\n  owner: ann\n  deep:\n    er: [1, 2]",
    "people:\n  - name: Ann\n    role: lead\n  - Bob\n  - - x\n    - y",
    "a:\n-   b: c\n    d: e\n-\n  f: g\n- # comment\n  h",
    "a: |-\n  one\n\nb: |\n  two\n\nc: >-\n  x\n  y\n\n\n  z\n",
    "a: >\n  one\n  two\n\n    three\n    four\n\n  five\nb: >\n\n  x\n\n",
    "a:\n  - |\n    one\n    two\n  - >-\n    three\n    four",
    "a: one\n  two\n\n  three\nb:\n  four\n  five",
    "a: \"one\n  two\n\n  three \\\n  four\"\nb: 'five\n  six'",
    'a: "tab\\t \\x41 \\u00e9 \\U0001F418 \\" \\\\ \\/ \\e \\N"',
    "a: [b: c, d, {e: f}]\ng: {h, i: j}",
    'a: {"title": "x", "list": [1, "two", {"a": null}]}',
    "a: https://x.y/z#top\nb: C# # comment\nc: a:b\nd: '#e'",
    "a: 2026-01-05\nb: 2026-01-05T10:00:00Z\nc: 12:30\nd: 1_000\ne: 0x1F\nf: 1e3\ng: .5\nh: yes",
    "a:\n  # comment\n  b: 1\n\n  # comment\n  c: 2\n# comment\nd: 3",
    "a: null\nb: ~\nc:\nd: [null, ~, x]\ne: {f: , g: 1}",
]


@pytest.mark.parametrize("block", BLOCKS)
def test_values_are_those_of_a_yaml_library(block):
    found = front_matter(f"---\n{block}\n---\n")
    assert found.problems == ()
    assert found.metadata == by_pyyaml(block + "\n")


@pytest.mark.parametrize(
    ("block", "metadata", "told"),
    [
        ("a: &x hello", {"a": "&x hello"}, ["2: '&x hello'"]),
        ("a: 1\nb: *x", {"a": 1, "b": "*x"}, ["3: '*x'"]),
        ("a: [*x, b]", {"a": ["*x", "b"]}, ["2: '*x'"]),
        ("a: &x\n  b: 1\nc: 2", {"a": "&x b: 1", "c": 2}, ["2: '&x'"]),
        ("a:\n  <<: *x\n  b: 1", {"a": {"<<": "*x", "b": 1}}, ["3: '*x'", "3: '<<'"]),
        ("<<: {a: 1}\nb: 2", {"<<": {"a": 1}, "b": 2}, ["2: '<<'"]),
        ("a: !!str 4", {"a": "!!str 4"}, ["2: '!!str 4'"]),
        ("a: & b\nc: R&D\nd: *Italic* x\ne: '*x'", None, []),
    ],
)
def test_anchors_aliases_merge_keys_and_tags_are_told_and_read_as_text(block, metadata, told):
    found = front_matter(f"---\n{block}\n---\n")
    assert metadata is None or found.metadata == metadata
    assert [problem.split(" is ")[0] for problem in found.problems] == [f"line {t}" for t in told]


yaml_keys = st.text("abc xyzö._-?:#'\"1", min_size=1, max_size=9).filter(str.strip)
yaml_values = st.recursive(
    st.text("abcxyzäö中 .,:;#-?!'\"[]{}&*|>%@`=~\\/09\n\t", max_size=20)
    | st.sampled_from(["true", "null", "~", "1.10", "007", "yes", "2026-01-05", "<<", "# x", "- a"])
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans()
    | st.none(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(yaml_keys, inner, min_size=1, max_size=4)
    ),
    max_leaves=10,
)


@given(
    data=st.dictionaries(
        yaml_keys.filter(lambda key: key.strip() != "tags"), yaml_values, min_size=1
    ),
    options=st.fixed_dictionaries(
        {
            "default_flow_style": st.sampled_from([None, False]),
            "width": st.sampled_from([20, 80, 1000]),
            "indent": st.sampled_from([2, 4]),
            "allow_unicode": st.booleans(),
        }
    ),
)
def test_what_a_yaml_library_writes_is_read_or_told(data, options):
    block = yaml.safe_dump(data, sort_keys=False, **options)
    assume(not re.search(r"^(?:---|\.\.\.)|\[\[|\A\{", block, re.MULTILINE))  # [[a]] is a link
    found = front_matter(f"---\n{block}---\n")
    assert found.lines == block.count("\n") + 2
    assert found.problems or found.metadata == by_pyyaml(block)


# Bounds


@pytest.mark.parametrize("step", ["[", "{a: ", "- ", "\n{indent}a:", "\n{indent}-"])
def test_nesting_is_bounded(step):
    def block(depth: int) -> str:
        steps = (step.replace("{indent}", "  " * number) for number in range(1, depth + 1))
        closing = {"[": "]", "{a: ": "}"}.get(step, "") * depth
        return f"title: x\na:{'' if step[0] == chr(10) else chr(10) + '  '}{''.join(steps)} b{closing}\nz: 1"

    assert front_matter(f"---\n{block(DEEPEST - 2)}\n---\n").problems == ()
    found = front_matter(f"---\n{block(DEEPEST * 9)}\n---\n")
    assert found.metadata == {"title": "x", "z": 1}
    assert found.problems[0] == "line 3: 'a' is nested more than 32 deep; it is left out"


# Told, found, filtered

RACK = "---\ntitle: Rack\nserver: {port: 2222, host: atlas}\n---\nThe rack of the lab.\n"


def test_storing_a_text_tells_what_is_not_read(run: Run) -> None:
    done = run("store", "--doc-id", "x", "--text", f"---\n{LINES}\nstray\n---\ntext")
    assert "line 7: 'stray' is not a key of the front matter; it is left out" in done.stderr
    assert done.returncode == 0


def test_metadata_on_the_command_line_is_read_as_front_matter(run: Run) -> None:
    run("store", "--doc-id", "x", "--text", RACK, "--metadata", "box={port: 23, tags: [a, b]}")
    run("store", "--doc-id", "x", "--append", "--text", "More.", "--metadata", "n=3")
    [hit] = answer(run("search", "lab", "--mode", "keyword", "--full", "--where", "box.port=23"))
    assert hit["metadata"] == {
        "title": "Rack",
        "server": {"port": 2222, "host": "atlas"},
        "box": {"port": 23, "tags": ["a", "b"]},
        "n": 3,
    }


@pytest.mark.parametrize(
    ("written", "value"),
    [
        *(("3", 3), ("[a, 3]", ["a", 3]), ("1.10", "1.10"), ("'x'", "x")),
        *(("|", "|"), ("a # b", "a # b"), ("&a b", "&a b"), ("", "")),
        *(("a\nb", "a\nb"), ("[" * 99, "[" * 99)),
    ],
)
def test_value_of_an_option(written: str, value: Any) -> None:
    assert value_of(written) == value
