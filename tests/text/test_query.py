import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybrid_memory.text import analyzer
from hybrid_memory.text.analyzer import searchable
from hybrid_memory.text.query import MAX_FRAGMENTS, MAX_QUERY, MAX_TOKENS, Query, Term
from tests.text.test_analyzer import plain


def words(query: str) -> list[str]:
    return [
        "+".join(map(plain, term.tokens)) + ("*" if term.prefix else "")
        for term in Query(query).terms
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what is the GPU password?", ["GPU", "password"]),
        ("the who", ["the+who", "the", "who"]),
        ("to be or not to be", ["to+be+or+not+to+be", "to", "be", "or", "not"]),
        ("boss-api v2.0", ["boss+api", "v2+0", "v2.0", "boss", "api", "v2", "0"]),
        ("--maxfail", ["--maxfail", "maxfail"]),
        ('find "exact phrase" zebra', ["exact+phrase", "find", "exact", "phrase", "zebra"]),
        ("don't", ["don+t", "don't", "don"]),
        ("NOT AND OR NEAR(x)", ["NEAR+x", "NEAR", "x"]),
        ("what's a C++ file?", ["C++", "C", "file"]),
        ("東京都の", ["東京", "京都", "都の"]),
        ("用Docker部署", ["用*", "Docker", "部署"]),
        ("gpu gpu GPU", ["gpu", "GPU"]),
        ("", []),
        ("!?… → 🎉", []),
    ],
)
def test_query_terms(query: str, expected: list[str]) -> None:
    assert words(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What is Gendolf's email address?", ["Gendolf", "email", "address"]),
        ("whose is it, Gendolf's?", ["Gendolf"]),
        ("the servers' names (Ann's, too)", ["servers", "names", "Ann"]),
        ("O'Brien's", ["O+Brien", "O'Brien", "O", "Brien"]),
        ('"Gendolf\'s email"', ["Gendolf+s+email", "Gendolf's", "Gendolf", "email"]),
        ("what's that", ["what+s+that", "what", "s", "that"]),
    ],
)
def test_a_possessive_ending_is_no_part_of_a_word(query: str, expected: list[str]) -> None:
    assert words(query) == expected


def test_quoted_run_without_spaces_is_a_phrase_that_may_go_on() -> None:
    assert Query('"東京都 で"').terms[0] == Term(("東京", "京都", "都", "で"), True)
    assert Query('"v2 東京"').terms[0] == Term(("v2", "東京"))


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
)  # a file with a NUL is no text
def test_every_term_of_a_text_is_found_in_the_text(text: str) -> None:
    written = searchable(text).split()
    written += ["", *analyzer.tokens_with_identifiers(text)[1].split()]
    for term in Query(text).terms:
        assert any(
            tuple(written[i : i + len(term.tokens)]) == term.tokens for i in range(len(written))
        )


@pytest.mark.parametrize(
    "query",
    ["payment_processor", "v2.0", "getUserName", "2222", "src/store.ts", "C++", "`HEAD~3`", '"192.168.1.5"', " ERR_STOCK? ", "iPhone"],
)  # fmt: skip
def test_an_identifier_is_one_word_with_a_digit_a_symbol_or_a_hump(query: str) -> None:
    assert Query(query).is_identifier


@pytest.mark.parametrize(
    "query",
    ["gpu", "GPU", "Berlin", "follow-up", "don’t", "RFC 9110", "how?", "", "...", "東京都2", "ภาษาไทย", "naïve"],
)  # fmt: skip
def test_a_plain_word_or_two_are_no_identifier(query: str) -> None:
    assert not Query(query).is_identifier


def test_words_are_the_terms_of_one_word() -> None:
    assert [term.tokens for term in Query('what is "exact phrase" in src/a.ts?').words] == [
        ("exact",),
        ("phrase",),
        ("src",),
        ("ts",),
    ]
    assert [term.tokens for term in Query("the who").words] == [("the",), ("who",)]
    assert [term.tokens for term in Query("東京都").words] == [("東京",), ("京都",)]
    assert Query("?!").words == Query("").words == []


def test_fragments_are_runs_and_symbols() -> None:
    assert Query("naïve ab 100% 東京x →").fragments == ["東京", "→"]
    assert len(Query("→ 🎉 " + " ".join("東" * i for i in range(100))).fragments) == MAX_FRAGMENTS


@settings(deadline=None)
@given(st.text(max_size=3000))
def test_limited_terms_have_a_bounded_number_of_tokens(text: str) -> None:
    query = Query(text)
    assert sum(len(term.tokens) for term in query.limited_terms) <= MAX_TOKENS
    assert set(query.limited_terms) <= set(query.terms)


@settings(deadline=None)
@given(st.text(st.characters(), min_size=1, max_size=8), st.integers(1, 3000))
def test_a_query_expands_to_a_bounded_number_of_characters(unit: str, times: int) -> None:
    query = Query(unit * times)
    assert (
        sum(len(token) for term in query.limited_terms for token in term.tokens) <= 20 * MAX_QUERY
    )
    assert all(len(fragment) <= MAX_QUERY for fragment in query.fragments)
    assert len(query.name) <= 18 * MAX_QUERY
    assert query.is_identifier in (True, False)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("wie viele verkaufte Karten hatte das Fest?", ["verkaufte", "Karten", "Fest"]),
        ("combien de billets avait-on vendus pour la fête ?", ["billets", "vendus", "fete"]),
        ("¿cuántas entradas se han vendido para la fiesta?", ["entradas", "vendido", "fiesta"]),
        ("what is in the die of the van?", ["die", "van"]),  # of German and Dutch, but English
        ("how many tickets were sold on the day?", ["many", "tickets", "sold", "day"]),
    ],
)
def test_function_words_are_those_of_the_language_of_the_query(
    query: str, words: list[str]
) -> None:
    assert [term.tokens[0] for term in Query(query).words] == words


def test_a_blank_query_has_no_terms() -> None:
    assert Query(" \t").is_blank
    assert Query("\0").terms == []
    assert not Query("x").is_blank


def test_of_alternatives_one_is_as_good_as_another() -> None:
    query = Query('"page cache" OR swap "file system" k8s OR kubernetes OR docker')
    assert [[term.tokens for term in group] for group in query.quoted_phrases] == [
        [("page", "cache"), ("swap",)],
        [("file", "system")],
    ]
    assert [query.original_word(word) for word in ("docker", "k8s", "system")] == [
        "k8s",
        "k8s",
        "system",
    ]
    assert query.with_substitutes({"dokcer": ["docker"]}).original_word("docker") == "dokcer"
