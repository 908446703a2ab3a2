from collections import Counter
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.text.operators import Operators, UnknownMemory
from hybrid_memory.text.query import NO_OPERATORS, Query, Term, without_operators

TODAY = date(2026, 3, 8)


class Known(UnknownMemory):
    """A memory with some keys, passages with some texts, and documents that fulfil every filter but
    those with one of the `missing` values.
    """

    def __init__(
        self,
        *written: str,
        missing: tuple[str, ...] = (),
        keys: Mapping[str, str] = {
            "status": "Status",
            "STATUS": "Status",
            "server.port": "server.port",
        },
    ) -> None:
        self._written = written
        self._missing = missing
        self._keys = keys

    def key_of(self, name: str) -> str | None:
        return self._keys.get(name)

    def unmet(self, asked: Mapping[str, Any]) -> str | None:
        values = [value for value in self._missing if value in str(asked)]
        return f"no document has {values[0]}" if values else None

    def is_written(self, literal: str, beside: str = "") -> bool:
        return any({literal, *beside.split()} <= set(text.split()) for text in self._written)


def operators(
    filters: list[str] | None = None,
    without: list[str] | None = None,
    words: dict[str, str] | None = None,
) -> Operators:
    return {"filters": filters or [], "without": without or [], "words": words or {}}


@pytest.mark.parametrize(
    ("text", "words", "asked"),
    [
        ("backups tag:ops tag:#gpu", "backups", {"tags": ["ops", "gpu"]}),
        ('in:"My notes" backups', "backups", {"inside": "My notes"}),
        ("in:“My notes” backups", "backups", {"inside": "My notes"}),
        ("path:memory/* a", "a", {"inside": "memory/*"}),
        ("in:a in:b c", "c", {"inside": "b"}),
        ("a date:2026-03", "a", {"since": "2026-03", "until": "2026-03"}),
        ("a date:2026", "a", {"since": "2026", "until": "2026"}),
        ("a date:1w", "a", {"since": "2026-03-01", "until": "2026-03-01"}),
        ("a after:7d", "a", {"since": "2026-03-01"}),
        ("a after:2026", "a", {"since": "2026"}),
        ("a before:2026-03", "a", {"until": "2026-02-28"}),
        ("a modified:7d", "a", {"modified_since": "2026-03-01"}),
        ("tag:x", "", {"tags": ["x"]}),
        ("tag:x OR tag:y", "", {"tags": ["x", "y"]}),
        ("status:done x", "x", {"where": {"Status": ["done"]}}),
        ('status:a STATUS:"b c" x', "x", {"where": {"Status": ["a", "b c"]}}),
        ("server.port:2222 x", "x", {"where": {"server.port": ["2222"]}}),
        ("lock -processos", "lock", {"without": [Term(("processos",))]}),
        ("-processos lock", "lock", {"without": [Term(("processos",))]}),
        ("-old lock -new", "lock", {"without": [Term(("old",)), Term(("new",))]}),
        ("lock -old -new?", "lock", {"without": [Term(("old",)), Term(("new",))]}),
        ("lock -old tag:x", "lock", {"tags": ["x"], "without": [Term(("old",))]}),
        ('lock -old -"page cache"', "lock", {"without": [Term(("old",)), Term(("page", "cache"))]}),
        ('"page lock" -old', '"page lock"', {"without": [Term(("old",))]}),
        ("ssh -la -old", "ssh -la", {"without": [Term(("old",))]}),
        ('lock -"page cache" x', "lock x", {"without": [Term(("page", "cache"))]}),
        ('-"page cache"', "", {"without": [Term(("page", "cache"))]}),
        ("a -tag:ops -in:old b", "a b", {"excluded": [{"tags": ["ops"]}, {"inside": "old"}]}),
        ('a -path:"My notes"', "a", {"excluded": [{"inside": "My notes"}]}),
        ("a -STATUS:done", "a", {"excluded": [{"where": {"Status": ["done"]}}]}),
        ("a -state:done", "a", {"without": [Term(("state", "done"))]}),
        ("a -before:lunch", "a", {"without": [Term(("before", "lunch"))]}),
        ("see http://a.b -see", "see http://a.b", {"without": [Term(("see",))]}),
    ],
)
def test_operators_are_taken_out_of_the_words(
    text: str, words: str, asked: dict[str, object]
) -> None:
    query = Query(text, today=TODAY, memory=Known())
    assert (query.text, query.asked) == (words, asked)
    assert not query.operators["words"]
    assert Query(text, fts_syntax=True).text == text
    assert Query(text, is_literal=True).asked == {}
    rest = without_operators(text, query.operators).replace("OR", "")
    assert Query(rest, is_literal=True).words == query.words


@pytest.mark.parametrize(
    "text",
    [
        "rsync -avz /srv",
        "find . -name notes.md",
        "what does ls -lah do",
        "notes -draft about cats",
        "ssh -p 2222 -la --maxfail a-b -",
        "-draft",
        "-draft -old",
        "-draft -la --maxfail",
        "-draft ?",
        '-"?!" lock',
        '"a -word tag:x" b',
        "what is `ls -lah`",
        "`docker pull tag:x`",
        "see  http://a.b for more",
        "atag: (tag:y) tag: x",
        "10:30 at:",
        "example.com:8080 and main.py:12",
        "Portland OR",
    ],
)
def test_everything_else_is_words(text: str) -> None:
    query = Query(text, memory=Known())
    assert (query.text, query.asked, query.operators) == (text, {}, NO_OPERATORS)


UNKNOWN_KEY = "no document has 'state' in its metadata"


@pytest.mark.parametrize(
    ("text", "memory", "reason"),
    [
        ("kubectl get pods -owide", Known("get -owide"), "a passage contains '-owide'"),
        ("-owide kubectl", Known("-owide"), "a passage contains '-owide'"),
        ("a -state:done", Known("-state:done"), "a passage contains '-state:done'"),
        ("docker pull tag:latest", Known(missing=("latest",)), "no document has latest"),
        (
            "docker pull tag:latest",
            Known("docker pull tag:latest now"),
            "a passage contains 'tag:latest' and the other words",
        ),
        (
            "docker pull -tag:latest",
            Known("docker pull -tag:latest"),
            "a passage contains '-tag:latest' and the other words",
        ),
        ("status:500 refused", Known(missing=("500",)), "no document has 500"),
        ("state:done x", Known(), UNKNOWN_KEY),
        ("a before:lunch", Known(), "'before:lunch' is not a date"),
    ],
)
def test_what_might_be_an_operator_is_a_word_for_a_reason(
    text: str, memory: Known, reason: str
) -> None:
    query = Query(text, memory=memory)
    assert (query.text, query.asked) == (text, {})
    assert list(query.operators["words"].values()) == [reason]
    assert not query.leaves_out_words


@pytest.mark.parametrize(
    ("text", "memory", "expected"),
    [
        # That a passage has the filter, too, is chance where it lacks the other words
        ("backups tag:ops", Known("write tag:ops"), operators(["tag:ops"])),
        ("tag:ops", Known("write tag:ops"), operators(["tag:ops"])),
        # A name that a passage has was not meant as a filter
        ("localhost:80 x", Known("at localhost:80"), operators()),
        # A filter that is words is one of the others that a -word may stand beside
        (
            "tag:nosuch -draft",
            Known(missing=("nosuch",)),
            operators([], ["-draft"], {"tag:nosuch": "no document has nosuch"}),
        ),
        (
            "-draft tag:nosuch notes",
            Known(missing=("nosuch",)),
            operators([], ["-draft"], {"tag:nosuch": "no document has nosuch"}),
        ),
        (
            "tag:nosuch -draft notes",
            Known(missing=("nosuch",)),
            operators([], [], {"tag:nosuch": "no document has nosuch"}),
        ),
        # Each is judged alone
        (
            "a -old -new",
            Known("-new"),
            operators([], ["-old"], {"-new": "a passage contains '-new'"}),
        ),
        (
            "a tag:x tag:y",
            Known(missing=("y",)),
            operators(["tag:x"], [], {"tag:y": "no document has y"}),
        ),
    ],
)
def test_a_memory_decides_about_each_part_alone(
    text: str, memory: Known, expected: Operators
) -> None:
    assert Query(text, memory=memory).operators == expected


def test_a_search_that_finds_nothing_takes_a_word_with_a_minus_for_a_word() -> None:
    query = Query("server tag:x -server", memory=Known())
    assert query.leaves_out_words
    query = Query("server tag:x -server", memory=Known(), may_leave_out_words=False)
    assert (query.text, query.asked) == ("server -server", {"tags": ["x"]})
    reason = "'-server' would leave no result"
    assert query.operators == operators(["tag:x"], [], {"-server": reason})
    assert not Query('a -tag:x -"b c"', memory=Known()).leaves_out_words


def test_a_pasted_text_is_words() -> None:
    pasted = " ".join(f"tag:a{number} key{number}:b" for number in range(1000))
    query = Query(f"server {pasted} -end", memory=Known(missing=("a",)))
    assert query.text == f"server {pasted}"
    assert len(query.operators["words"]) == 20


PARTS = st.sampled_from(
    ["a", "-", "--x", "-la", "-abc", '-"a b"', '"a', "`", "tag:x", "-tag:x", "in:y", "state:z",
     "status:z", "date:2026", "after:x", "OR", "http://a", "C:\\a", "-x:y", "東京", "-東京都", "?"]
)  # fmt: skip


@given(st.lists(PARTS, max_size=8).map(" ".join), st.sets(PARTS), st.booleans())
def test_each_part_is_an_operator_or_is_among_the_words(
    text: str, written: set[str], may_leave_out_words: bool
) -> None:
    memory = Known(*written, missing=("y",))
    query = Query(text, memory=memory, may_leave_out_words=may_leave_out_words)
    read = query.operators
    kept = " ".join([*read["filters"], *read["without"], query.text])
    letters, letters_kept = (Counter(part) - Counter(" OR" * 99) for part in (text, kept))
    assert letters == letters_kept
    assert all(part in text for part in read["words"])
    if not (read["filters"] or read["without"]):
        assert query.asked == {}
    assert read == Query(text, memory=memory, may_leave_out_words=may_leave_out_words).operators
