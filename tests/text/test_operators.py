from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.operators import NEEDS_QUOTES
from hybrid_memory.text.query import NO_OPERATORS, Query, Term, without_operators

TODAY = date(2026, 3, 8)


@pytest.mark.parametrize(
    ("text", "words", "asked"),
    [
        ("tag:ops tag:#gpu backups", "backups", {"tags": ["ops", "gpu"]}),
        ('in:"My notes" backups', "backups", {"inside": "My notes"}),
        ("path:memory/* a", "a", {"inside": "memory/*"}),
        ("in:a in:b c", "c", {"inside": "b"}),
        ("date:2026-03 a", "a", {"since": "2026-03", "until": "2026-03"}),
        ("date:1w a", "a", {"since": "2026-03-01", "until": "2026-03-01"}),
        ("after:7d a", "a", {"since": "2026-03-01"}),
        ("before:2026-03 a", "a", {"until": "2026-02-28"}),
        ("tag:x OR tag:y", "", {"tags": ["x", "y"]}),
        ("tag:x OR tag:y a", "a", {"tags": ["x", "y"]}),
        ("where:Status=done x", "x", {"where": {"Status": ["done"]}}),
        ('x where:"who=Ann B" where:"who=C"', "x", {"where": {"who": ["Ann B", "C"]}}),
        ('lock -"processos"', "lock", {"without": [Term(("processos",))]}),
        ('-"old" lock -"new"', "lock", {"without": [Term(("old",)), Term(("new",))]}),
        ('ssh -la -"old"', "ssh -la", {"without": [Term(("old",))]}),
        ('lock -"page cache" x', "lock x", {"without": [Term(("page", "cache"))]}),
        ("-tag:ops -in:old a", "a", {"excluded": [{"tags": ["ops"]}, {"inside": "old"}]}),
        (
            '-"b" -tag:x tag:y a',
            "a",
            {"without": [Term(("b",))], "excluded": [{"tags": ["x"]}], "tags": ["y"]},
        ),
        ('a -path:"My notes"', "a", {"excluded": [{"inside": "My notes"}]}),
        ("-where:status=done a", "a", {"excluded": [{"where": {"status": ["done"]}}]}),
    ],
)
def test_operators_are_taken_out_of_the_words(
    text: str, words: str, asked: dict[str, object]
) -> None:
    query = Query(text, today=TODAY)
    assert (query.text, query.asked) == (words, asked)
    assert not query.operators["words"]
    assert Query(text, fts_syntax=True).text == text
    assert Query(text, is_literal=True).asked == {}
    rest = without_operators(text, query.operators).replace("OR", "")
    assert Query(rest, is_literal=True).words == query.words


@pytest.mark.parametrize(
    "text",
    [
        "ssh -p 2222 -la --maxfail a-b -",
        '-"?!" lock',
        '"a -word tag:x" b',
        "what is `ls -lah`",
        "see  http://a.b for more",
        "atag: (tag:y) tag: x",
        "error:connection refused",
        "10:30 at:",
    ],
)
def test_everything_else_is_words(text: str) -> None:
    query = Query(text)
    assert (query.text, query.asked, query.operators) == (text, {}, NO_OPERATORS)


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("kubectl get pods -owide", {"-owide": NEEDS_QUOTES}),
        ("-draft notes", {"-draft": NEEDS_QUOTES}),
        (
            "docker pull app tag:latest",
            {"tag:latest": "'tag:latest' is a filter only before the words, or as tag:\"latest\""},
        ),
        (
            "app -tag:latest",
            {
                "-tag:latest": "'-tag:latest' is a filter only before the words, or as -tag:\"latest\""
            },
        ),
        ("before:lunch a", {"before:lunch": "'before:lunch' has no date after the colon"}),
        ('a date:"x"', {'date:"x"': "'date:\"x\"' has no date after the colon"}),
        ("where:done a", {"where:done": "'where:done' has no KEY=VALUE after the colon"}),
    ],
)
def test_what_might_be_an_operator_is_a_word_for_a_reason(
    text: str, reasons: dict[str, str]
) -> None:
    query = Query(text)
    assert (query.text, query.asked) == (text, {})
    assert query.operators == NO_OPERATORS | {"words": reasons}


def test_a_filter_after_one_that_is_words_is_words_too() -> None:
    query = Query("before:lunch tag:x a")
    assert (query.text, query.asked) == ("before:lunch tag:x a", {})


def test_a_pasted_text_is_words() -> None:
    pasted = " ".join(f"tag:a{number} key{number}:b" for number in range(1000))
    query = Query(f"server {pasted} -end")
    assert query.text == f"server {pasted} -end"
    assert len(query.operators["words"]) == 20


PARTS = st.sampled_from(
    ["a", "-", "--x", "-la", "-abc", '-"a b"', '"a', "`", "tag:x", "-tag:x", 'in:"y"', "state:z",
     "where:s=z", "date:2026", "after:x", "OR", "http://a", "C:\\a", "-x:y", "東京", "-東京都", "?"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=8).map(" ".join))
def test_each_part_is_an_operator_or_is_among_the_words(text: str) -> None:
    query = Query(text)
    read = query.operators
    kept = " ".join([*read["filters"], *read["without"], query.text])
    letters, letters_kept = (Counter(part) - Counter(" OR" * 99) for part in (text, kept))
    assert letters == letters_kept
    assert all(part in text for part in read["words"])
    if not (read["filters"] or read["without"]):
        assert query.asked == {}
