"""The built-in embedder, with its real table. builtin_tokens.json holds tokens that the tokenizers library made."""

import json
import math
import struct
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybrid_memory.embedding import builtin
from hybrid_memory.embedding.builtin import (
    KNOWN_SHARE,
    MOST_TOKENS,
    NO_ROW,
    BuiltinEmbedder,
    Table,
)

RECORDED = json.loads(Path(__file__).with_name("builtin_tokens.json").read_text("utf-8"))
DATA = Path(builtin.__file__).with_name("builtin.bin")
TABLE = Table(DATA)
LEVELS = struct.unpack_from("<16b", DATA.read_bytes(), builtin.HEADER.size)
INDEXES = {TABLE.token(index): index for index in range(len(TABLE._strings))}

READ = Table(DATA)
READ.read_vocabulary()


@pytest.fixture(scope="module")
def embedder() -> BuiltinEmbedder:
    return BuiltinEmbedder()


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(("text", "tokens"), RECORDED, ids=lambda value: ascii(value)[:24])
def test_tokens_are_those_of_the_tokenizers_library(
    embedder: BuiltinEmbedder, text: str, tokens: str
) -> None:
    assert embedder.tokenize(text) == tokens.split()


@given(st.text(max_size=20))
@example("unaffable")
@example("大熊猫")
def test_the_read_vocabulary_finds_the_same_prefixes(text: str) -> None:
    assert READ.longest_prefix(text.encode()) == TABLE.longest_prefix(text.encode())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        (
            "unaffable",
            ["una", "##ffa", "##ble"],
        ),  # longest match first, so not "un", "##aff", "##able"
        ("[SEP]", ["[", "sep", "]"]),  # text, not the model's special token
        ("a" * 101, ["[UNK]"]),
        ("\ud800half a pair", ["half", "a", "pair"]),
        (
            "ΟΔΟΣ",
            ["ο", "##δ", "##ο", "##σ"],
        ),  # no final sigma: characters are lower-cased one by one
    ],
)
def test_tokens_are_those_of_wordpiece(
    embedder: BuiltinEmbedder, text: str, tokens: list[str]
) -> None:
    assert embedder.tokenize(text) == tokens


@pytest.mark.parametrize(
    ("query", "answer", "distractor"),
    [
        (
            "how do I fix a car engine",
            "repairing the motor of an automobile",
            "a recipe for chocolate cake",
        ),
        ("money we owe", "unpaid debts and loans", "birds migrate south in winter"),
        ("the website is slow", "latency of web pages is too high", "my sister is getting married"),
        ("sign in trouble", "login fails with a wrong password", "painting a landscape"),
    ],
)
def test_a_paraphrase_is_nearer_than_another_subject(
    embedder: BuiltinEmbedder, query: str, answer: str, distractor: str
) -> None:
    asked = embedder.embed(query)
    near, far = (cosine(asked, vector) for vector in embedder.embed_batch([answer, distractor]))
    assert near > far + 0.1


def test_vectors_have_length_1_and_256_dimensions(embedder: BuiltinEmbedder) -> None:
    for vector in embedder.embed_batch(
        ["one", "two words", "x" * 99, "!?", "1 2 3", "The Quick Brown Fox. " * 500]
    ):
        assert len(vector) == embedder.dims() == 256
        assert math.hypot(*vector) == pytest.approx(1.0)


WORDS = [
    "the",
    "Server,",
    "(unaffable)",
    "don't",
    "a\x1cb",
    "\tfoo\n",
    "é—è",
    "東京都",
    "x" * 101,
    "half-known 服",
    "qzxv",
    "\x85",
    "!?",
]


@given(
    st.lists(
        st.sampled_from(WORDS) | st.text(st.characters(max_codepoint=0x30FF), max_size=6),
        max_size=30,
    ).map(" ".join)
)
@example("Unaffable dogs, and a dog!")
@example(
    "Atlas > The GPU server\n\nLog in: `ssh gpu-1`, (or) so...\x07\x85\u2028\ud800 Ärger–É\u0301!\u0301"
)
def test_vector_is_the_sum_of_its_tokens_rows(embedder: BuiltinEmbedder, text: str) -> None:
    """The test repeats the calculation with the bytes of the file."""
    tokens, sums, known = embedder.tokenize(text), [0] * 256, 0
    for token in tokens:
        row = TABLE.row_of[INDEXES[token]] if token in INDEXES else NO_ROW
        if row != NO_ROW:
            known += 1
            packed = TABLE.packed_rows[row * 128 : (row + 1) * 128]
            numbers = [byte % 16 for byte in packed] + [byte // 16 for byte in packed]
            for j, number in enumerate(numbers):
                sums[j] += TABLE.scales[row] * LEVELS[number]
    length = math.hypot(*sums)
    expected = [x / length for x in sums] if length and known >= KNOWN_SHARE * len(tokens) else []
    assert embedder.embed(text) == expected
    assert embedder.embed_batch([text]) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\x07",
        "a" * 101,
        "黑豹队的防守丢了多少分？",
        "поиск по памяти",
        "😀",
    ],
)
def test_text_that_the_table_does_not_know_has_no_vector(
    embedder: BuiltinEmbedder, text: str
) -> None:
    assert embedder.embed(text) == []
    assert embedder.embed_batch([text, "server"])[0] == []
    assert embedder.problem is None


def test_half_of_the_tokens_must_be_known(embedder: BuiltinEmbedder) -> None:
    assert KNOWN_SHARE == 0.5
    assert embedder.embed("服 server 务 host")
    assert embedder.embed("服 server 务") == []
    assert embedder.embed("服 server 务 host") == embedder.embed("server host")


def test_case_accents_and_order_do_not_matter(embedder: BuiltinEmbedder) -> None:
    assert embedder.embed("Café NOIR") == embedder.embed("noir cafe")


def test_a_callers_change_does_not_reach_the_cache(embedder: BuiltinEmbedder) -> None:
    first = embedder.embed("cached")
    expected = first.copy()
    first[0] = 9.0
    assert embedder.embed("cached") == expected


def test_the_longest_texts_cannot_overflow(embedder: BuiltinEmbedder) -> None:
    table = Table(DATA)
    most = max(table.scales) * max(map(abs, LEVELS)) * MOST_TOKENS
    assert most < 2**31
    assert embedder.embed("the " * MOST_TOKENS) == pytest.approx(embedder.embed("the"))
    assert embedder.embed("the " * MOST_TOKENS + "server " * 9000) == pytest.approx(
        embedder.embed("the")
    )


@pytest.mark.parametrize("data", [b"no such thing" * 10, b"short"])
def test_other_file_is_refused(tmp_path: Path, data: bytes) -> None:
    other = tmp_path / "other.bin"
    other.write_bytes(data)
    with pytest.raises(ValueError, match=r"other\.bin is not a table of token vectors"):
        BuiltinEmbedder(str(other)).dims()


def test_a_table_whose_words_are_cut_by_another_rule_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.bin"
    magic, rule, *counts = builtin.HEADER.unpack_from(DATA.read_bytes())
    data = DATA.read_bytes()[builtin.HEADER.size :]
    other.write_bytes(builtin.HEADER.pack(magic, rule + 1, *counts) + data)
    with pytest.raises(ValueError, match=r"other\.bin is not a table of token vectors"):
        BuiltinEmbedder(str(other)).dims()
