import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.documents.code import without_code
from hybrid_memory.documents.links import document_links
from hybrid_memory.documents.markdown import FORMAT, parse
from hybrid_memory.documents.structure import markdown_structure
from hybrid_memory.text.links import DocumentLinks, folded, key_of, names_note, path_of
from hybrid_memory.text.terms import embedded_text, plain


def of(text: str) -> DocumentLinks:
    return FORMAT.links(parse(text, {}))


def targets(text: str) -> list[str]:
    return [link.target for link in of(text).links]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Note]]", ["Note"]),
        ("[[Note|text]] ![[Note#Heading]] [[Note#^b1]]", ["Note", "Note#Heading", "Note#^b1"]),
        (r"| [[Note\|in a table]] |", ["Note"]),
        ("[[#here]] [[]] [[ -f x ]] x[[1]]", []),
        ("[[{{title}}]] [[<% tp.date %>]]", []),
        ("[a](../a%20b.md#sec) [b](<c d.md>) [c](e_(f).md \"title\")", ["../a%20b.md#sec", "c d.md", "e_(f).md"]),
        ("[a](https://x.y/z.md) [b](//x.y) [c](#sec) [d](mailto:a@b.c) <https://x.y>", []),
        ("see [one] and [two][2]\n\n[one]: one.md\n[2]: <two 2.md> 'T'\n[^3]: three.md", ["one.md", "two 2.md"]),
        ("`[[a]]` ``[[b]] ` [[c]]`` [[d]]", ["d"]),
        ("```\n[[a]]\n```\n[[b]]\n~~~~\n[[c]]\n~~~\n[[d]]\n~~~~\n[[e]]", ["b", "e"]),
        ("text\n\n    [[code]]\n\n    [[code]]\n\ntext [[a]]\n    [[b]]", ["a", "b"]),
        ("<!-- [[a]] --> [[b]]", ["b"]),
        ("---\nup: \"[[Home]]\"\npeople:\n  - '[[Ann|A]]'\nsee: [x](y.md)\n---\n[[a]]", ["Home", "Ann", "y.md", "a"]),
        ("[[a]] and [[a]]\n[[a]]", ["a", "a"]),
        ("- {{[[TODO]]}} call [[Ruiz]] {{[[query]]: {and: [[a]]}}}", ["Ruiz", "a"]),
    ],
)  # fmt: skip
def test_links(text: str, expected: list[str]) -> None:
    assert targets(text) == expected


def test_a_link_has_the_line_it_stands_on_front_matter_counted() -> None:
    text = '---\na: 1\nup: "[[Home]]"\n---\n\none [[A]] and [[B]]\n\n```\ncode\n```\n[x](c.md)\n\n[y]: d.md\n'
    assert [(link.line, link.target, link.kind) for link in of(text).links] == [
        (3, "Home", "wikilink"), (6, "A", "wikilink"), (6, "B", "wikilink"), (11, "c.md", "markdown"), (13, "d.md", "markdown"),
    ]  # fmt: skip
    assert [link.kind for link in of("![[a]]").links] == ["embed"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#a #B/c, (#d) *#e* #f-g_h #2026-01", ["a", "b/c", "d", "e", "f-g_h", "2026-01"]),
        ('#123 a#b #  ## \\#c &#39; "#d"', []),
        ("# Heading #a\n## #b\ntext #c\n#d\n\nunder #e\n===", ["a", "b", "c", "d", "e"]),
        ("## Run {: #run .x }\n## Go {#go}\n### #only {#id}", ["only"]),
        ('<b style="color: #EEE">x</b> #a <a href="x #b">y</a> 1 < 2 #c > 0', ["a", "c"]),
        (
            "#two words# and #one word#, #three more words# #last",
            ["two words", "one word", "three more words", "last"],
        ),
        ("#東京 #café、 #Straße #🎉", ["東京", "café", "strasse", "🎉"]),
        ("`#a` [b](#c) [[d#e]] [[f #g]] https://x.y/#h", []),
        ("#a/ #a. #a: #A", ["a"]),
    ],
)
def test_tags_in_a_text(text: str, expected: list[str]) -> None:
    assert list(of(text).tags) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# The *Atlas* `project` #", ("The Atlas project",)),
        ("---\ntitle: Atlas\n---\n# Project [[people/Ann|Ann]]", ("Atlas", "Project Ann")),
        ("intro\n\n# Title", ("Title",)),
        ("# `atlas --help`", ("atlas --help",)),
        ("## Part\n\n# Title", ()),
        ("```\n# comment\n```\n# Title #work", ("Title",)),
        ("text", ()),
    ],
)
def test_titles(text: str, expected: tuple[str, ...]) -> None:
    assert of(text).titles == expected


def test_the_words_of_a_link_stand_for_it() -> None:
    assert (
        plain("With [[people/Steph Ango|Steph]] on [[projects/Atlas#Plan#Next]]s")
        == "With Steph on Atlas > Plan > Nexts"
    )
    assert (
        plain("![[a.md]] [[b#^c1]] [[#d]] [[e|]] x[[1]] [[ -f g ]]") == "a b d e x[[1]] [[ -f g ]]"
    )
    assert embedded_text("[[Atlas]]", "see [[b|c]]") == "Atlas\n\nsee c"


def test_parts_of_a_target() -> None:
    assert path_of("a/b#c^d") == "a/b"
    assert path_of("../a%20b.md?raw=1#c", "markdown") == "../a b.md"
    assert folded(" People/Steph  ANGO.md ") == "people/steph ango"
    assert key_of("People/v1.2.md") == "v1.2"
    assert key_of("Zu\u0308rich") == key_of("Z\u00fcrich")


@pytest.mark.parametrize(
    ("target", "kind", "is_note"),
    [
        ("a.PNG", "embed", False),
        ("Node.js", "wikilink", True),
        ("a", "wikilink", True),
        ("a.md", "wikilink", True),
        ("../a%20b.md#c", "markdown", True),
        ("src/a.ts", "markdown", False),
        ("/guide/setup/", "markdown", False),
        ("../setup", "markdown", False),
        (":/0a1b", "markdown", False),
    ],
)
def test_only_a_name_that_must_be_a_note_s_can_be_a_broken_link(
    target: str, kind: str, is_note: bool
) -> None:
    assert names_note(target, kind) is is_note


@given(st.text(st.sampled_from("[]()!|#^`~ \n\t-a中.:<>/\\"), max_size=60))
def test_code_is_blanked_in_place_and_lines_are_those_of_the_text(text: str) -> None:
    structure = markdown_structure("\n" + text)
    blank = without_code(structure)
    assert [len(line) for line in blank.split("\n")] == [
        len(line) for line in structure.text.split("\n")
    ]
    lines = text.split("\n")
    for link in document_links(text, 0, {}).links:
        assert link.target in lines[link.line - 1]
