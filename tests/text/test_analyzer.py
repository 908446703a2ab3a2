import re
import sqlite3
import unicodedata
from contextlib import closing

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from hybrid_memory.text import analyzer
from hybrid_memory.text.analyzer import searchable
from hybrid_memory.text.characters import fold, pattern
from hybrid_memory.text.scripts import GRAM_RUN, has_gram_run


def plain(token: str) -> str:
    """A token with its symbols readable again."""
    return token.translate({0xF800 + code: chr(code) for code in range(0x21, 0x7F)})


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Hello, world!", "Hello world"),
        ("Lỗi sữa đường", "Loi sua duong"),
        ("ΆΝΘΡΩΠΟΣ άνθρωπος", "ΑΝΘΡΩΠΟΣ ανθρωποσ"),
        ("İstanbul ılık", "Istanbul ilik"),
        ("مُحَمَّد أحمد", "محمد احمد"),
        ("Straße Øresund", "Strasse oresund"),
        ("ﬁne Ｄｏｃｋｅｒ", "fine Docker"),
        ("東京都", "東京 京都 都"),
        ("用Docker部署", "用 Docker 部署 署"),
        ("한국어를", "한국 국어 어를 를"),
        ("soft\u00adware zero\u200bwidth", "software zero width"),
        ("→ 🎉 --", ""),
    ],
)
def test_text_is_written_folded_and_in_grams_where_words_have_no_spaces(
    text: str, written: str
) -> None:
    assert searchable(text) == written


def test_thai_is_written_in_triples_that_no_mark_cuts() -> None:
    grams = searchable("สวัสดี").split()
    assert [len(gram) for gram in grams] == [3, 3, 3, 3, 2, 1]


def test_hindi_vowel_signs_stay_inside_the_word_and_the_nukta_is_dropped() -> None:
    assert len(searchable("हिन्दी").split()) == 1
    assert searchable("क़लम") == searchable("कलम")
    assert searchable("की") != searchable("का")


@pytest.mark.parametrize("text", ["Ελλάδα", "sữa đặc", "Noël", "Québec", "naïve", "Ångström"])
def test_composed_and_decomposed_text_is_the_same(text: str) -> None:
    assert searchable(unicodedata.normalize("NFD", text)) == searchable(
        unicodedata.normalize("NFC", text)
    )


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("call getUserName()", "get User Name"),
        ("XMLHttpRequest", "XML Http Request"),
        ("plain Words here.", ""),
        ("API", ""),
        ("(`C++`), HEAD~3; **#1234**.", "C++ HEAD~3 #1234"),
        ("[it](https://example.com/x?y=z)", "https://example.com/x?y=z"),
        ("don’t", "don't"),
        ("a well-known agent-to-agent thing, e2e-tests", "e2e-tests"),
        ("-- === ...", ""),
    ],
)
def test_identifiers_are_found_by_their_words_and_as_they_stand(text: str, parts: str) -> None:
    assert plain(analyzer.tokens_with_identifiers(text)[1]) == parts


TEXTS = st.lists(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.sampled_from(["getUserName", "a/b.c", "C++", "don't.", "snake_case", "well-known", "XMLHttp", "東京都", "สวัสดี", "é", "серверы", "हिन्दी", "1.5", " ", "`"])
).map("".join)  # fmt: skip


@given(TEXTS)
def test_what_is_written_are_the_tokens_of_the_text_and_then_those_of_its_identifiers(
    text: str,
) -> None:
    assume(not re.search(r"\d{4}|\d\W\d", text))  # a written day has tokens of its own
    for _ in range(2):  # what was kept of the first time changes nothing
        words, more = analyzer.tokens_with_identifiers(text)
        assert searchable(text) == " ".join(token.text for token in analyzer.tokens(fold(text)))
        assert (
            words
            == analyzer.indexed(text)
            == " ".join(map(analyzer.stemmed, searchable(text).split(" ")))
        )
        camel = re.findall(r"\b[A-Za-z]\w*?[a-z0-9][A-Z]\w*", text)
        parts = [
            part for word in camel for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", word)
        ]
        assert more.split(" ") == ([*parts, *analyzer.symbolic(fold(text))] or [""])


def test_a_name_is_one_token_that_separators_do_not_change() -> None:
    assert (
        analyzer.name("notes/Getting-started.md") == "notes\uf82fGetting\uf8festarted\uf82emd\uf8ff"
    )
    assert (
        analyzer.name(" `getting started` ")
        == analyzer.name("getting_started")
        == analyzer.name("getting-started")
    )
    assert analyzer.name("C++") != analyzer.name("C")
    assert analyzer.name("---") == analyzer.name("") == analyzer.name("x" * 1000) == ""


def test_names_of_a_document_are_its_paths_file_name_and_stem() -> None:
    expected = map(analyzer.name, ["memory/a/b-c.md", "a/b-c.md", "b-c.md", "b-c"])
    assert analyzer.names("memory/a/b-c.md", "a/b-c.md") == list(expected)
    assert analyzer.names("note", "note") == [analyzer.name("note")]


@pytest.mark.parametrize(
    ("path", "stem"),
    [("a/b.md", "a/b"), (".profile", ".profile"), ("a/.profile", "a/.profile"), ("phase 7.2", "phase 7.2"), ("a.tar.gz", "a.tar"), ("a.d/b", "a.d/b")],
)  # fmt: skip
def test_stem_has_no_extension(path: str, stem: str) -> None:
    assert analyzer.stem(path) == stem


def fts5_tokens(text: str) -> list[str]:
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute(
            "create virtual table t using fts5(x, tokenize = 'unicode61 remove_diacritics 2')"
        )
        conn.execute("create virtual table v using fts5vocab(t, instance)")
        conn.execute("insert into t values (?)", (text,))
        return [term for (term,) in conn.execute("select term from v order by offset")]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_fts5_cuts_what_is_written_at_its_spaces_and_nowhere_else(text: str) -> None:
    written = " ".join([*analyzer.tokens_with_identifiers(text), analyzer.name(text)])
    assert len(fts5_tokens(written)) == len(written.split())


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(st.text(st.characters(exclude_categories=["Cs"])))
@example("\u0e31")  # a mark without its letter
def test_a_gram_run_is_seen_without_its_pattern(text: str) -> None:
    folded = fold(text)
    assert has_gram_run(folded) == (pattern(GRAM_RUN).search(folded) is not None)


@given(st.text())
def test_tokens_are_seen_without_their_pattern(text: str) -> None:
    folded = fold(text)
    assert analyzer.has_token(folded) == (re.search(analyzer.TOKEN, folded) is not None)
    assert analyzer.whole_tokens(folded) == re.findall(analyzer.TOKEN, folded)


@given(st.text(st.characters(codec="ascii")))
def test_tokens_of_ascii_need_a_simpler_pattern(text: str) -> None:
    found = [text[start:end] for start, end, *_ in analyzer.tokens(text)]
    assert found == re.findall(analyzer.TOKEN, text)


@given(st.text(st.characters(max_codepoint=0x5FF), max_size=20))
def test_a_name_is_one_token_of_letters(text: str) -> None:
    assert re.fullmatch(rf"({analyzer.TOKEN})?", analyzer.name(text))
