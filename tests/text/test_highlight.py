import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory.storage.bm25 import stems
from hybrid_memory.text.characters import begins_grapheme
from hybrid_memory.text.highlight import Highlighter, Span, passage
from hybrid_memory.text.query import Query

TRICKY = "ab é e\u0301 x\u0323\u0302 \u200d 👩\u200d💻 👍🏽 🇩🇪🇫🇷 हिन्दी क्ष ภาษาไทยน้ำ 한국어 \u1112\u1161\u11ab 東京都 か\u3099 مُحَمَّد \r\n . _"


def marked(query: str, text: str, width: int = 240) -> str:
    return Highlighter(Query(query), [text], stems).snippet(text, "[", "]", width)


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("cafe", "The Café is open", "The [Café] is open"),
        ("running", "he runs; a runner", "he [runs]; a runner"),
        ("lỗi", unicodedata.normalize("NFD", "Lỗi kết nối"), f"[{unicodedata.normalize('NFD', 'Lỗi')}] kết nối".replace("kết nối", unicodedata.normalize("NFD", "kết nối"))),
        ("محمد", "قال مُحَمَّد اليوم", "قال [مُحَمَّد] اليوم"),
        ("हिन्दी", "यह हिन्दी है", "यह [हिन्दी] है"),
        ("東京", "在東京都内", "在[東京]都内"),
        ("部署", "用Docker部署服务", "用Docker[部署]服务"),
        ("한국", "대한국민은", "대[한국]민은"),
        ("がく", "か\u3099くせい", "[か\u3099く]せい"),
        ("한국", unicodedata.normalize("NFD", "한국어"), f"[{unicodedata.normalize('NFD', '한국')}]{unicodedata.normalize('NFD', '어')}"),
        ("store.ts", "see src/store.ts now", "see src/[store].[ts] now"),
        ("zebra", "nothing here", "nothing here"),
        ("", "nothing here", "nothing here"),
    ],
)  # fmt: skip
def test_matched_words_are_marked_in_the_original_text(
    query: str, text: str, expected: str
) -> None:
    assert marked(query, text) == expected


def test_passage_with_the_most_different_words_is_shown() -> None:
    text = (
        "gpu gpu gpu. "
        + "Nothing of note here. " * 20
        + "The gpu password is long. "
        + "And so on. " * 20
    )
    shown = marked("gpu password", text, 60)
    assert "The [gpu] [password] is long." in shown
    assert shown.startswith("…") and shown.endswith("…")


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9), st.sampled_from("abc")), max_size=12),
    st.integers(1, 40),
)
def test_the_passage_has_the_most_different_words_and_then_the_most_words(
    steps: list[tuple[int, int, str]], width: int
) -> None:
    spans, at = [], 0
    for gap, length, term in steps:
        spans.append(Span(at + gap, at + gap + length, term))
        at += gap + length
    start, end = passage("x" * at, spans, width)
    shown = [span for span in spans if start <= span.start and span.end <= end]
    windows = [
        [other for other in spans if span.start <= other.start and other.end <= span.start + width]
        for span in spans
    ]
    ranks = [(len({span.term for span in window}), len(window)) for window in windows]
    assert (len({span.term for span in shown}), len(shown)) >= max(ranks, default=(0, 0))
    assert end - start <= width


def test_passage_begins_and_ends_with_whole_words() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda"
    start, end = passage(text, Highlighter(Query("zeta"), [text], stems).spans(text), 22)
    assert text[start:end].split() == [
        word for word in text.split() if word in text[start:end].split()
    ]
    assert "zeta" in text[start:end]
    assert end - start <= 22


def test_text_without_a_match_is_shown_from_its_beginning() -> None:
    assert marked("zebra", "one two three four", 9) == "one two…"


@pytest.mark.parametrize(
    "cluster", ["👩\u200d💻", "👍🏽", "🇩🇪", "क्ष", "น้ำ", "か\u3099", "\r\n", "x\u0323"]
)
def test_grapheme_is_not_cut(cluster: str) -> None:
    text = f"b{cluster}{cluster}b"
    edges = [at for at in range(len(text) + 1) if begins_grapheme(text, at)]
    n = len(cluster)
    within = {at for at in range(1, len(text)) if at not in (1, 1 + n, 1 + 2 * n)}
    assert not within & set(edges)
    assert {1, 1 + n, 1 + 2 * n} <= set(edges)


def test_grapheme_wider_than_the_passage_stays_whole() -> None:
    text = "z" + "\u0301" * 500
    assert marked("z", text, 20) == f"[{text}]"
    assert marked("other", text, 20) == text


texts = st.text(st.sampled_from(TRICKY) | st.characters(exclude_categories=["Cs"]), max_size=60)


@given(texts, texts, st.integers(min_value=1, max_value=40))
def test_snippet_is_a_part_of_the_text_cut_between_graphemes(
    query: str, text: str, width: int
) -> None:
    highlighter = Highlighter(Query(query), [text], stems)
    spans = highlighter.spans(text)
    start, end = passage(text, spans, width)
    places = [start, end, *(at for span in spans for at in span[:2])]
    assert places[2:] == sorted(places[2:])
    assert all(0 <= at <= len(text) for at in places)
    for at in places:
        if 0 < at < len(text):
            assert unicodedata.category(text[at])[0] != "M"
            assert "\u200d" not in text[at - 1 : at + 1]
    plain = highlighter.snippet(text, "", "", width)
    assert text[start:end] in plain
    assert plain.removeprefix("…").removesuffix("…") in text or "…" in text


@given(texts)
def test_every_word_of_a_text_is_marked_when_it_is_the_query(text: str) -> None:
    for word in text.split():
        if word.isalpha() and word.isascii() and len(word) > 1:
            assert any(
                text[span.start : span.end] == word
                for span in Highlighter(Query(word), [text], stems).spans(text)
            )
