"""What is code in markdown: as a CommonMark parser has it, on written texts and on made-up ones."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hybrid_memory.documents.code import without_code
from hybrid_memory.documents.links import ELSEWHERE, document_links, tags_in
from hybrid_memory.documents.markdown import parse
from hybrid_memory.documents.structure import markdown_structure
from hybrid_memory.text.terms import WIKILINK

ROOT = Path(__file__).parents[2]
FILES = [
    path
    for folder in ("docs", "tests/vault", "tests/quality")
    for path in sorted((ROOT / folder).rglob("*.md"))
]
PARSER = MarkdownIt("commonmark").enable("table")


def texts_of(markdown: str) -> list[str]:
    """The texts without code."""
    texts = []
    for token in PARSER.parse(markdown):
        if token.type == "inline":
            pieces = (
                " "
                if child.type == "code_inline"
                else "\n"
                if child.type.endswith("break")
                else child.content
                for child in token.children or []
                if child.type != "html_inline"
            )
            texts.append("\n" + "".join(pieces))
    return texts


def targets_of(markdown: str) -> set[str]:
    env: dict = {}
    tokens = [child for token in PARSER.parse(markdown, env) for child in token.children or []]
    written = [str(token.attrs.get("href") or token.attrs.get("src") or "") for token in tokens]
    written += [reference["href"] for reference in env.get("references", {}).values()]
    return {unquote(target) for target in written if target and not ELSEWHERE.match(target)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_and_tags_are_those_that_a_parser_finds_tags_in(path: Path) -> None:
    parsed = parse(path.read_text(), {})
    body = "\n".join(parsed.text.split("\n")[parsed.skipped :])
    ours = document_links(body, 0, {})
    texts = [re.sub("%%.*?%%", "", text) for text in texts_of(body)]
    names = {link["target"].strip() for text in texts for link in WIKILINK.finditer(text)}
    tags = {tag for text in texts for tag in tags_in(WIKILINK.sub("", text))}
    assert {link.target for link in ours.links if link.kind != "markdown"} == {
        name for name in names if name.partition("#")[0] and "{{" not in name and "<%" not in name
    }
    assert {unquote(link.target) for link in ours.links if link.kind == "markdown"} == targets_of(
        body
    )
    assert set(ours.tags) == tags


PIECES = [
    *("> ", ">", "- ", "* ", "1. ", "2. ", "10) ", "    ", "   ", "  ", " ", "\t", "-     "),
    *("`", "``", "```", "~~~", "````", "```\n", "\n", "\n", "\n\n", "\n    "),
    *("# ", "a", "b c", "\\", "***", "===", "---", "[[]]", "[[]]"),
]
NUMBER = re.compile(r"\[\[(\d+)\]\]")
# markdown-it begins a block where CommonMark's reference goes on with the paragraph of a container.
INDENTED_MARK = re.compile(r"^(?:[ \t]*>)*(?: {4}| *\t)[ \t]*[-+*>#`~\d]", re.MULTILINE)
# People who indent a fence too far mean a fence.
INDENTED_FENCE = re.compile(r"(?: {4}|\t)[ \t]*(?:`{3}|~{3})")
# It counts a tab behind nested quotes from another column.
TAB_IN_QUOTES = re.compile(r"^(?: *>){2,} +\t", re.MULTILINE)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
def test_code_is_what_a_parser_says(text: str) -> None:
    assume(not INDENTED_MARK.search(text) and not TAB_IN_QUOTES.search(text))
    assume(not INDENTED_FENCE.search(text))
    numbers = iter(range(100))
    text = re.sub(r"\[\[\]\]", lambda _: f"[[{next(numbers)}]]", text)
    expected = [number for part in texts_of(text) for number in NUMBER.findall(part)]
    assert NUMBER.findall(without_code(markdown_structure("\n" + text))) == expected


@pytest.mark.parametrize(
    "text",
    [
        "> text\n>\n> ```css\n> a { color: #no }\n> ```\n\n#yes",
        "1. item\n\n    ```\n    #no [[no]]\n    ```\n\n   #yes",
        "1. item\n\n       #no [[no]]\n\n#yes",
        "| a | b |\n|---|---|\n| ` | #yes |\n| ` | |",
        "``a\n#no`` #yes",
        r"\` #yes \` and ` #no`",
        "text %%#no [[no]]%% #yes",
        "%%\n#no\n\n[[no]]\n%%\n#yes",
        "100 %% of #yes\n\nnot %% here",
        "$$\nx \\in #no\n\n[[no]]\n$$\n#yes",
    ],
)
def test_what_a_reader_takes_for_code_has_no_tags_and_no_links(text: str) -> None:
    ours = document_links(text, 0, {})
    assert (ours.tags, ours.links) == (("yes",), ())


def test_a_paragraph_that_begins_with_code_keeps_its_links_and_tags() -> None:
    text = "Above.\n\n`code` leads to [a page](a.md), [[b]] and #tag.\n\n- item\n\n  `x` [[c]]\n"
    ours = document_links(text, 0, {})
    assert [link.target for link in ours.links] == ["a.md", "b", "c"]
    assert ours.tags == ("tag",)
