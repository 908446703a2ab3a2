"""What a file says never ends a command, takes more than its share of time, or cannot be stored."""

import itertools
import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.documents import markdown
from hybrid_memory.documents.document import Document, prepare
from hybrid_memory.documents.files import FileBytes
from hybrid_memory.documents.front_matter import MAX_METADATA, front_matter
from hybrid_memory.documents.links import document_links
from hybrid_memory.extras.formats import inserted
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.sync.refresh import refresh
from tests.growth import grows_too_fast

# What can be stored


def assert_storable(*values: Any) -> None:
    for value in values:
        json.dumps(value, ensure_ascii=False, default=asdict).encode()


surrogates = st.text(st.sampled_from("\ud800\udfffab \n#"), max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | surrogates,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(surrogates, inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(
    st.binary(max_size=200)
    | surrogates.map(
        lambda text: f"---\n{text}: {text}\n---\n# {text}".encode("utf-8", "surrogatepass")
    )
)
def test_any_bytes_as_markdown_give_strings_that_can_be_stored(data: bytes) -> None:
    reading = markdown.MarkdownReading(FileBytes(data, 1.0, len(data)), {}, markdown.FORMAT)
    assert_storable(
        list(reading.chunks(20, 5)), reading.metadata, reading.warnings, reading.date("d")
    )


@given(st.dictionaries(surrogates, json_values), surrogates)
def test_any_metadata_that_is_given_can_be_stored(metadata: dict[str, Any], title: str) -> None:
    prepared = prepare(Document("d", "# One\n\ntext", {**metadata, "title": title}), 512, 50)
    assert_storable(prepared.row, [chunk["heading_path"] for chunk in prepared.chunks])


def test_title_with_half_a_character_is_taken_in(store: HybridStore, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    title = {"type": "summary", "summary": "a \ud800 title"}
    said = {"type": "user", "message": {"content": "the gpu"}}
    path.write_text(f"{json.dumps(title)}\n{json.dumps(said)}\n")
    os.utime(path, (1, 1))
    report = Ingest(store).run([str(path)])
    assert (report.files, report.errors) == (1, [])
    assert store.search("gpu")[0]["metadata"] == {"title": "a ? title"}
    path.write_text(f"{json.dumps(title)}\n{json.dumps(said)}\n{json.dumps(said)}\n")
    os.utime(path, (2, 2))
    assert refresh(store).files == 1


# Front matter of any size


def test_front_matter_that_is_too_long_keeps_the_keys_that_fit_and_says_so(
    store: HybridStore, tmp_path: Path
) -> None:
    path = tmp_path / "a.md"
    image, more = "x" * 100_000, "".join(f"key{number}: {'y' * 5000}\n" for number in range(20))
    path.write_text(f"---\nimage: {image}\ntitle: GPU server\n{more}last: z\n---\nIt hums.\n")
    report = Ingest(store).run([str(path)])
    assert report.warnings == [
        {
            "path": str(path),
            "reason": "; ".join(
                [
                    *("line 2: the front matter is too long; 'image' is left out",),
                    *("line 17: the front matter is too long; 'key13' is left out",),
                    *("line 18: the front matter is too long; 'key14' is left out", "and 5 more"),
                ]
            ),
            "kind": "front matter",
        }
    ]
    [hit] = store.search("hums", mode="keyword")
    assert list(hit["metadata"]) == ["title", *(f"key{number}" for number in range(13)), "last"]
    assert (hit["text"], hit["heading_path"]) == ("It hums.", "GPU server")


def test_front_matter_of_the_greatest_length_is_kept_whole() -> None:
    value = "x" * (MAX_METADATA - len("a: b: y"))
    assert front_matter(f"---\na: {value}\nb: y\n---\n")[:3] == ({"a": value, "b": "y"}, 4, ())
    for longer, kept, left_out in (("y", {"a": value + "y"}, "b"), ("yyyyy", {"b": "y"}, "a")):
        found = front_matter(f"---\na: {value}{longer}\nb: y\n---\n")
        assert (found.metadata, found.lines) == (kept, 4)
        assert f"{left_out!r} is left out" in found.problems[0]


# Time

UNITS = [
    *("x", " ", "\t", "\n", "#", "# ", "# h\n", "`", "```", "```\n", "- ```\n", "~ ", "1. ", "- ", "a: ", "a:", ": ", ":", '"', "'"),
    *("''", '\\"', "\\", "[", "[[", "]", ", ", '",', "{", "|", " #", "#a ", "中", "\u0301", " \u200d", "<bash-a", "<bash-a>", "<bash-"),
    *("</bash-a>", "</bash-", "<command-a-", ">", "(untrusted", ")", "):\n", "):\n```json\n", "\n```", "\n```\n", "[Request interrupted by user"),
    *("|", "| a ", "|-", "|-|\n", "-|", "a|b\n|-|-|\n", "---\n", "- - ", "* ", "_", "<!--", "<!---->", "`<!-- -->", "data:", "data:a/b;"),
    *("http://", "a://b|", ". ", ".", '."', "a. B ", "。", "e.g. ", "> ", "~~~", "-"),
    *("[[a", "[[a|", "[[a]]", "[[a]], ", "[a](b", "](", "](<", "[a]: ", " #a/", "``", "\n    a\n\n"),
    *("    ```a\n", "<a>\n    ```a\n", "    | a\n", "    | a |\n    |-|\n"),
    *("%%", "$$", "%%a\n\n", "\\`", "> - ", ">\n", "-\n", "    a\n", "#+end_src\n"),
    *("#+begin_src\n", "#+a: ", ":a: ", ":b:", "| a\n", "\n|-", ": ", "+--", "\n+-+", "=", "= ", "\n===\n", "\n.. a::\n", "::\n", ">>> ", "[[a][b]]"),
    *("System: ", "System:\n", "System (untrusted): [2026-", "[Mon 2026-03-05 10:00 UTC]", "(untrusted x):\n```json\n", "a\n  - b\n", "a: |\n  b\n", "a: [\n", "a: [b, 'c',\n", "  - \n"),
]  # fmt: skip


def assert_linear(
    run: Callable[[str], Any], beginning: str, unit: str, most: int, *, little: float
) -> None:
    def text(length: int) -> str:
        return beginning + (unit * (length // len(unit) + 1))[:length] + "\n---\ntext )x\n"

    for length in (most // 32, most):
        assert not grows_too_fast(run, text, length, little=little), f"{beginning!r} and {unit!r}"


FLOWS = [
    *("---\n", '---\na: "', "---\na: [", "---\ntags: [", "---\na: |\n  ", "---\na:\n  - "),
    *("---\na: {b: ", "---\na:\n  b:\n    c: '", "---\na:\n- "),
]


@pytest.mark.parametrize(
    ("run", "beginnings", "most", "little"),
    [
        (front_matter, FLOWS, 4_000, 0.05),
        (
            inserted.without_wrappers,
            ["", "<bash-a>", "x (untrusted x):\n```json\n"],
            *(32_000, 0.006),
        ),
        (markdown.chunk_text, [""], 8_000, 0.01),
        (
            lambda text: document_links(text, 0, {}),
            ["", "1. " * 750 + "x\n", "- " * 750],
            *(4_000, 0.006),
        ),
    ],
    ids=["front matter", "wrappers", "chunks", "document_links"],
)
@pytest.mark.large
def test_text_of_one_kind_takes_linear_time(
    run: Callable[[str], Any], beginnings: list[str], most: int, little: float
) -> None:
    for beginning in beginnings:
        for unit in UNITS:
            assert_linear(run, beginning, unit, most, little=little)


VALUES = [
    *("a: [\n", "a: {b\nc\n", "a: [[\n", "a: [b: {c: ", 'a:\n- "\n', "- - - - -", "a: &b *b\n"),
    *("a: >\n\n", "a:\n  b\n c:\n"),
]
BLOCKS = [
    *("word\n", " ", "x", "a. B ", "a|b\n|-|-|\n", "```\n", "<!--", "`<!-- --> ", "data:a,", "- "),
    *("中", "    ~~~a\n"),
]


@pytest.mark.parametrize(
    ("run", "beginning", "unit"),
    [
        *((front_matter, "---\n", unit) for unit in VALUES),
        *(
            (inserted.without_wrappers, "", unit)
            for unit in ("<bash-a>", "<bash-a ", "(untrusted", "(untrusted x):\n```json\n")
        ),
        *((markdown.chunk_text, "", unit) for unit in BLOCKS),
    ],
)
@pytest.mark.large
def test_a_large_text_of_one_kind_takes_linear_time(
    run: Callable[[str], Any], beginning: str, unit: str
) -> None:
    assert_linear(run, beginning, unit, 30_000, little=0.005)


def test_many_names_of_tags_take_linear_time() -> None:
    names = [
        "".join(letters) for letters in itertools.product("abcdefghijklmnopqrstuvwxyz", repeat=3)
    ]

    def run(text: str) -> None:
        inserted.without_wrappers("".join(f"<bash-{name}>" for name in names[: len(text)]))

    assert_linear(run, "", "x", len(names), little=0.007)


# The pattern that `without_wrappers` replaced because it took quadratic time.
WRAPPER = re.compile(
    rf"<({inserted.TAG})\b[^>]*>.*?</\1>"
    r"|^[^\n]*\(untrusted[^)\n]*\):\n```json\n.*?\n```$"
    r"|^\[Request interrupted by user[^\n]*\]$"
    r"|\A\[[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]*\] ?",
    re.DOTALL | re.MULTILINE,
)
PARTS = [
    *("<bash-a", "<bash-a>", "</bash-a>", "<bash-b x=1>", "</bash-b>", "<ide_x_y>", "</ide_x_y>"),
    *(
        "<command-name-x>",
        "</command-name>",
        "Info (untrusted metadata):\n```json\n{}\n```",
        "(untrusted",
    ),
    *(
        " metadata",
        ")",
        "):\n```json\n",
        "\n```\n",
        "\n```",
        "```json",
        "[Request interrupted by user",
    ),
    *("]", "[Mon 2026-03-05 10:00 UTC]", " ", "<", ">", "x", "\n"),
]


@given(st.lists(st.sampled_from(PARTS), max_size=14).map("".join))
def test_wrappers_go_as_the_pattern_that_was_slow_had_it(text: str) -> None:
    assert inserted.without_wrappers(text) == WRAPPER.sub("", text)
