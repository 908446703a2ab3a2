import pytest

from hybrid_memory.embedding.builtin import BuiltinEmbedder
from hybrid_memory.embedding.near_words import LEAST, NearWords

NEAR = NearWords()


@pytest.mark.parametrize(
    ("word", "near"), [("doctor", "physician"), ("car", "automobile"), ("meeting", "meetings")]
)
def test_a_word_has_near_words(word: str, near: str) -> None:
    found = dict(NEAR.of(word))
    assert near in found
    assert word not in found
    assert list(found.values()) == sorted(found.values(), reverse=True)
    embedder = BuiltinEmbedder()
    cosine = sum(a * b for a, b in zip(embedder.embed(word), embedder.embed(near), strict=True))
    assert found[near] == pytest.approx(cosine, abs=0.003)
    assert found[near] >= LEAST - 0.002


@pytest.mark.parametrize("word", ["", "zzqxk", "##ing", "2222", "настройка", "東京", "\U0010ffff"])
def test_other_words_have_none(word: str) -> None:
    assert NEAR.of(word) == []
    assert NEAR.weight(word) > 0


def test_every_token_has_its_own_list() -> None:
    """The lists are found by blocks: the last words of a block, and of the table, too."""
    table = BuiltinEmbedder().table
    of_doctor = table.index("doctor")
    assert "physician" in dict(NEAR.of(table.token(of_doctor)))
    assert all(NEAR.of(table.token(number)) == [] for number in range(250, 265))  # parts of words
    last = next(
        token for token in map(table.token, range(len(table.row_of) - 1, 0, -1)) if NEAR.of(token)
    )
    assert all(cosine >= LEAST - 0.002 for _, cosine in NEAR.of(last))


def test_words_that_say_little_have_a_short_vector() -> None:
    assert max(map(NEAR.weight, ("try", "want", "need"))) < min(
        map(NEAR.weight, ("physician", "greenhouse", "telemetry"))
    )
    assert NEAR.weight("东京") == 1.0
