"""Words that no chunk has: beginnings, parts and misspellings of words of the index."""

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.search.coverage import SAME_STEM
from hybrid_memory.search.request import Request
from hybrid_memory.storage.bm25 import stems
from hybrid_memory.storage.filters import Filters
from hybrid_memory.storage.spelling import similar_terms
from hybrid_memory.text.characters import spellings
from tests.storage.test_keyword import keyword_store, put

__all__ = ["keyword_store"]


@pytest.mark.parametrize(
    ("word", "other", "text"),
    [
        ("kub", "kubernetes", "Kubernetes runs it"),
        ("kuberntes", "kubernetes", "Kubernetes runs it"),
        ("hunter", "headhunters", "the headhunters came"),
        ("настройк", "настройки", "Настройки сервера"),
        ("нстройки", "настройк", "Настройки сервера"),
    ],
)
@pytest.mark.both_engines
def test_a_word_that_no_chunk_has_stands_for_others(
    keyword_store: HybridStore, word: str, other: str, text: str
) -> None:
    put(keyword_store, it=text, unlike="Something else entirely")
    answer = keyword_store.answer(word, Request())
    assert [hit["doc_id"] for hit in answer.results] == ["it"]
    if answer.instead:  # the index may have the stem that the beginning of a word has
        [[told]] = answer.instead.values()
        assert told.lower() == other
        assert answer.results[0]["instead"] == {word: [other]}
        assert answer.results[0]["confidence"] >= SAME_STEM


def test_nothing_is_said_of_words_that_are_found(keyword_store: HybridStore) -> None:
    put(keyword_store, it="Kubernetes runs it")
    answer = keyword_store.answer("kubernetes", Request())
    assert not answer.instead
    assert "instead" not in answer.results[0]


def test_a_word_without_likeness_finds_nothing(keyword_store: HybridStore) -> None:
    put(keyword_store, it="Kubernetes runs it", port="port 2222")
    for word in ("xyzzyplugh", "2223", "ab"):
        assert keyword_store.search(word) == []


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("guitar", "git is a tool"),  # two errors
        ("river", "the drivers"),
        ("Bruder", "some bread"),  # in no dictionary of ours, but too short for two errors
    ],
)
def test_a_word_of_a_dictionary_is_not_misspelt(
    keyword_store: HybridStore, word: str, text: str
) -> None:
    put(keyword_store, it=text)
    assert keyword_store.search(word, mode="keyword") == []


def test_a_question_of_which_no_word_is_known_is_about_something_else(
    keyword_store: HybridStore,
) -> None:
    put(keyword_store, jonas="Jonas keeps the list of printing points")
    assert keyword_store.search("Who painted the Mona Lisa?") == []
    assert keyword_store.search("prinitng")[0]["instead"] == {"prinitng": ["printing"]}


@pytest.mark.both_engines
def test_a_misspelt_word_beside_known_ones_is_mended(keyword_store: HybridStore) -> None:
    put(keyword_store, it="The Telegram webhook is here", that="a webhook", also="nothing alike")
    answer = keyword_store.answer("telegrm webhook", Request())
    assert answer.results[0]["doc_id"] == "it"
    assert answer.results[0]["confidence"] == 1.0
    assert answer.instead == {"telegrm": ["Telegram"]}
    assert answer.results[0]["instead"] == {"telegrm": ["telegram"]}


def test_a_word_whose_stem_has_another_ending_is_mended(keyword_store: HybridStore) -> None:
    put(keyword_store, it="a proxy for the gateway", that="a proxy")
    assert keyword_store.search("proxy gatway")[0]["instead"] == {"gatway": ["gateway"]}


@pytest.mark.parametrize(
    "query",
    [
        '"telegrm" webhook',  # exactly so
        "telegr4m webhook",  # an identifier
        "smart webhook",  # a word, though a chunk has "start"
        "telgrxm webhook",  # too different
    ],
)
def test_other_words_beside_known_ones_stay_as_they_are(
    keyword_store: HybridStore, query: str
) -> None:
    put(keyword_store, it="The Telegram webhook is here to start")
    answer = keyword_store.answer(query, Request())
    assert answer.results
    assert not answer.instead


def test_a_word_is_mended_where_filters_leave_none_of_its_query(keyword_store: HybridStore) -> None:
    put(keyword_store, **{"a/x": "Telegram is here", "b/x": "a webhook set up by hand"})
    query = "telegrm webhook set in:a"
    assert keyword_store.search(query)[0]["instead"] == {"telegrm": ["telegram"]}


def test_a_word_that_exists_elsewhere_is_not_taken_for_a_misspelling(
    keyword_store: HybridStore,
) -> None:
    put(keyword_store, **{"a/x": "the port is open", "b/x": "the fort is old"})
    assert keyword_store.search("port", filters=Filters(inside="b")) == []


@pytest.mark.both_engines
def test_what_is_written_or_deleted_changes_the_words_at_once(keyword_store: HybridStore) -> None:
    put(keyword_store, it="Kubernetes runs it")
    assert keyword_store.search("kuberntes")
    assert keyword_store.search("terrafrom") == []
    put(keyword_store, that="Terraform plans it")
    assert [hit["doc_id"] for hit in keyword_store.search("terrafrom")] == ["that"]
    keyword_store.delete("it")
    assert keyword_store.search("kuberntes") == []


@pytest.mark.both_engines
def test_the_last_word_that_is_being_typed_is_a_beginning(keyword_store: HybridStore) -> None:
    put(keyword_store, a="the portfolio of plans", b="the port is open", c="unlike")

    def found(query: str) -> list[str]:
        return [hit["doc_id"] for hit in keyword_store.search(query, mode="keyword", typed=True)]

    assert found("the port") == ["b", "a"]
    assert found("port ") == ["b"]
    assert found("portf") == ["a"]
    assert found("porrt pla") == ["a", "b"]  # a misspelt word before it is mended, too
    assert found("po") == []


def test_the_commonest_terms_and_the_fewest_differences_count() -> None:
    terms = {"concert": 3, "concern": 9, "convert": 5, "control": 7, "conceal": 1}
    vocabulary = "\n" + "".join(f"{term}\n" for term in terms)

    def meant(word: str) -> list[str]:
        return similar_terms(
            word,
            stems([word])[word],
            lambda *_: vocabulary,
            lambda found: {term: terms[term] for term in found},
            is_new=True,
        )

    assert meant("conce") == ["concern", "concert", "conceal"]
    assert meant("cnocert") == ["concert"]
    assert meant("contrlo") == ["control"]


def test_words_are_told_as_the_query_and_the_passages_write_them(
    keyword_store: HybridStore,
) -> None:
    keyword_store.store("a", "Die Bäder öffnen um sechs.")
    answer = keyword_store.answer("Wann öffnen BÄDERN?", Request(explain=True))
    assert answer.other_words() == "searched for Bäder for BÄDERN, which no passage has"
    assert answer.results[0]["instead"] == {"BADERN": ["bader"]}
    assert answer.results[0]["explain"]["terms"] == ["öffnen", "bader"]
    assert spellings("Über den Bädern, über") == {"uber": "Über", "den": "den", "badern": "Bädern"}


SINGULARS = (
    "group server garden window kitchen budget project market letter planner printer router folder "
    "backup tenant doctor teacher student engine motor ticket parcel supplier contract deadline "
    "holiday airport station harbour battery monitor keyboard customer employee database"
).split()
GERUNDS = (
    "working planning painting cleaning cooking opening traveling repairing reviewing publishing "
    "scheduling installing updating connecting changing reporting deploying releasing writing making "
    "baking driving building teaching learning speaking listening printing scanning indexing storing"
).split()


@pytest.mark.parametrize(
    "words",
    [SINGULARS, [f"{word}s" for word in SINGULARS], GERUNDS],
    ids=["singular", "plural", "gerund"],
)
def test_exchanged_letters_are_corrected_in_inflected_words(
    store: HybridStore, words: list[str]
) -> None:
    with store.storage.transaction():
        for word in words:
            document = Document(word, f"the {word} are fine", {})
            store.storage.documents.put(store.prepare(document), {})
    found = []
    for word in words:
        middle = len(word) // 2
        for at in (middle - 1, middle):
            typed = f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"
            hits = store.search(typed, 1, mode="keyword")
            found.append([hit["doc_id"] for hit in hits] == [word])
    assert sum(found) >= 0.95 * len(found)


@pytest.mark.parametrize("word", ["\u0f77", "\u0cbf\u0ccb"])
@pytest.mark.both_engines
def test_a_word_of_combining_marks_is_searched(keyword_store: HybridStore, word: str) -> None:
    put(keyword_store, it="Kubernetes runs it")
    assert keyword_store.search(word) == []
