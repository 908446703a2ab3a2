import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.chunker import chunk_text
from hybrid_memory.documents.document import Document
from hybrid_memory.search.packing import joined
from hybrid_memory.search.result import Passage
from hybrid_memory.storage.rows import Neighbour
from hybrid_memory.sync.ingest import Ingest

Kind = Callable[[Iterator[int]], str]
KINDS: dict[str, Kind] = {  # of lines, made of numbers that come but once
    "heading": lambda n: f"{'#' * (next(n) % 3 + 1)} Part {next(n)}",
    "blank": lambda n: "",
    "line": lambda n: f"the server {next(n)} of the server {next(n)}",
    "the same line": lambda n: "| the | same |",
    "long line": lambda n: " ".join(f"port {next(n)}" for _ in range(50)),
    "long line in Chinese": lambda n: "".join(chr(0x4E00 + next(n)) for _ in range(150)),
    "long line in both": lambda n: " ".join(
        f"é{next(n)}, {chr(0x4E00 + next(n))}{chr(0x4E00 + next(n))}" for _ in range(40)
    ),
    "code": lambda n: "```\n# no heading\n    indented = True\n\n```",
}


@pytest.fixture(scope="module")
def store() -> Iterator[HybridStore]:
    with HybridStore(":memory:", {"provider": "none"}) as opened:
        yield opened


def put(store: HybridStore, text: str, size: int, overlap: int) -> list[int]:
    """The ids of its chunks."""
    store.config |= {"chunk_size": size, "chunk_overlap": overlap}
    with store.storage.transaction():
        store.storage.documents.put(store.prepare(Document("d", text, {})))
    return [
        id
        for (id,) in store.storage.connection.execute(
            "select id from chunks where doc_id = 'd' order by id"
        )
    ]


def spaceless(text: str) -> str:
    """How much space a cut in a long line swallowed is not known, and the end of a long row says nothing."""
    return "".join(text.replace("|", "").split())


def around(store: HybridStore, doc_id: str, id: int, count: int) -> Passage:
    """The chunk of this chunks.id joined with up to `count` chunks on either side."""
    return joined(doc_id, store.storage.chunks.around(doc_id, id, count))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=25),
    st.integers(30, 200),
    st.floats(0, 0.95),
    st.integers(0, 4),
)
@example(["the same line"] * 25, 64, 0.8, 3)
@example(["long line", "long line in Chinese", "long line in both"] * 2, 50, 0.9, 4)
def test_text_is_what_the_source_has_between_its_lines(
    store: HybridStore, kinds: list[str], size: int, share: float, count: int
) -> None:
    numbers = itertools.count(1)
    text = "\n".join(KINDS[kind](numbers) for kind in kinds)
    overlap = int(size * share)
    chunks = chunk_text(text, size, overlap)
    for at, id in enumerate(put(store, text, size, overlap)):
        first, last = max(at - count, 0), min(at + count, len(chunks) - 1)
        passage = around(store, "d", id, count)
        assert (passage.start_line, passage.end_line) == (
            chunks[first].start_line,
            chunks[last].end_line,
        )
        source = "\n".join(text.split("\n")[passage.start_line - 1 : passage.end_line])
        assert spaceless(passage.text) in spaceless(source)
        assert passage.text.startswith(chunks[first].text)
        assert passage.text.endswith(chunks[last].text)
        assert passage.text.count("\n") == passage.end_line - passage.start_line
        if first == 0 and last == len(chunks) - 1:
            assert spaceless(passage.text) == spaceless(text)


@pytest.mark.parametrize("overlap", [0, 1, 7, 30, 59])
def test_text_of_short_lines_is_the_source_to_the_character(
    store: HybridStore, overlap: int
) -> None:
    text = "# One\n\n" + "\n".join(
        f"  line {i} of it, \t the same words\n" * (i % 3) + "| - a | b - |" for i in range(60)
    )
    ids = put(store, text, 60, overlap)
    assert len(ids) > 40
    assert around(store, "d", ids[5], 1000).text == text


def test_a_word_longer_than_a_chunk_is_whole_again(store: HybridStore) -> None:
    text = "see " + "https://example.com/" + "0123456789" * 17 + " for more"
    ids = put(store, text, 50, 20)
    assert around(store, "d", ids[0], 100).text == text


def test_text_does_not_go_beyond_its_document(store: HybridStore) -> None:
    with store.storage.transaction():
        for doc_id in "abc":
            store.storage.documents.put(store.prepare(Document(doc_id, f"document {doc_id}", {})))
    [(id,)] = store.storage.connection.execute("select id from chunks where doc_id = 'b'")
    passage = around(store, "b", id, 10**9)
    assert (passage.text, passage.start_line, passage.end_line) == ("document b", 1, 1)
    assert passage.chunks == [id]


@pytest.mark.parametrize("overlap", [0, 20, 50])
def test_long_lines_keep_their_words_apart(store: HybridStore, overlap: int) -> None:
    text = " ".join(f"wort{i}" if i % 3 else "é port" for i in range(200))
    ids = put(store, text, 60, overlap)
    assert around(store, "d", ids[0], 1000).text == text


@pytest.mark.parametrize("overlap", [0, 20, 50])
def test_of_a_word_over_and_over_no_more_is_lost_than_the_overlaps(
    store: HybridStore, overlap: int
) -> None:
    text = " ".join(["ha"] * 300)
    ids = put(store, text, 60, overlap)
    whole = around(store, "d", ids[0], 1000).text
    assert len(text) - len(ids) * (overlap + len(" ha")) <= len(whole) <= len(text)


def test_overlap_of_huge_chunks_is_found(store: HybridStore) -> None:
    text = " ".join(f"word {i % 7} {i}" for i in range(12_000))
    ids = put(store, text, 60_000, 40_000)
    assert around(store, "d", ids[0], 10).text == text


def test_messages_of_a_transcript_stand_a_blank_line_apart(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "type": "user" if i % 40 == 0 else "system",
                    "message": {"content": f"message {i} of the session"},
                }
            )
            + "\n"
            for i in range(121)
        )
    )
    with HybridStore(
        ":memory:", {"provider": "none", "chunk_size": 60, "chunk_overlap": 10}
    ) as store:
        Ingest(store).run([str(tmp_path / "s.jsonl")])
        hit = store.search("message 40", 1, context=1)[0]
    assert hit["text"] == "\n\n".join(f"User: message {i} of the session" for i in (0, 40, 80))
    assert (hit["start_line"], hit["end_line"]) == (1, 81)


def test_a_word_that_happens_to_be_repeated_stays() -> None:
    """An overlap is whole sentences: "tea" ends one chunk and begins the next, and is said twice."""
    before = Neighbour(1, "After lunch we talked about tea", 1, 1, "10.15:512:50", None)
    after = Neighbour(2, "tea from Assam is strong.", 1, 1, "10.15:512:50", None)
    text = joined("a.md", [before, after]).text
    assert text == "After lunch we talked about tea tea from Assam is strong."
    before = before._replace(text="We talked. Tea is strong.")
    after = after._replace(text="Tea is strong. Coffee is not.")
    assert joined("a.md", [before, after]).text == "We talked. Tea is strong. Coffee is not."
