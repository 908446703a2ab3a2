import json

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.documents.document import Document, prepare
from hybrid_memory.documents.markdown import LONGEST_TITLE
from hybrid_memory.storage.prepared import texts_of
from hybrid_memory.text.characters import digest
from tests.conftest import TopicEmbedder

WORDS = ("lift", "turn", "close", "clean", "dry", "open")

PAGE = """\
---
title: Machine room
description: where the zirconium rack hums
tags: [infra, colocation]
aliases: [cellar]
rack_units: 4711
draft: true
---
Ask before you enter.

# Racks

The first is full.
"""


def heading_paths(text: str, **metadata: object) -> list[str]:
    return [
        chunk["heading_path"] for chunk in prepare(Document("d", text, metadata), 512, 50).chunks
    ]


@pytest.mark.parametrize(
    ("title", "text", "expected"),
    [
        ("Notes", "text\n\n# One\n\ntext", ["Notes", "Notes > One"]),
        ("One", "# One\n\ntext\n\n## Two\n\ntext", ["One", "One > Two"]),
        ("ONE ", "# One\n\ntext", ["One"]),
        ("One", "# One more\n\ntext", ["One > One more"]),
        ("A > B", "# A > B\n\ntext", ["A > B"]),
        ("two\nlines", "text", ["two lines"]),
        ("t" * 5000, "text", ["t" * LONGEST_TITLE]),
        (2026, "# One\n\ntext", ["One"]),
        (None, "text", [""]),
    ],
)
def test_title_heads_the_heading_path_once(title: object, text: str, expected: list[str]) -> None:
    assert heading_paths(text, title=title) == expected


def test_title_is_embedded_and_not_in_the_text() -> None:
    prepared = prepare(Document("d", PAGE, {}), 512, 50)
    assert [chunk["heading_path"] for chunk in prepared.chunks] == [
        "Machine room",
        "Machine room > Racks",
    ]
    assert [chunk["heading"] for chunk in prepared.chunks] == ["", "Racks"]
    assert list(prepared.texts.values()) == [
        "Machine room\n\nAsk before you enter.",
        "Machine room > Racks\n\n# Racks\n\nThe first is full.",
    ]
    assert not any("Machine" in chunk["content"] for chunk in prepared.chunks)


def test_metadata_given_wins_over_the_front_matter() -> None:
    assert heading_paths(PAGE, title="Cellar")[0] == "Cellar"
    assert (
        json.loads(prepare(Document("d", PAGE, {"draft": "no"}), 512, 50).row["metadata"])["draft"]
        == "no"
    )


@pytest.mark.parametrize("word", ["zirconium", "infra", "cellar", "locksmith", "4711"])
def test_what_the_front_matter_says_finds_the_document(store: HybridStore, word: str) -> None:
    store.store("page", PAGE, {"people": [{"name": "Quimby", "roles": ["janitor", ["locksmith"]]}]})
    store.store("other", "nothing of the kind")
    hits = store.search(word, mode="keyword")
    assert hits[0]["doc_id"] == "page"
    assert {hit["doc_id"] for hit in hits} == {"page"}
    assert hits[0]["chunk_id"] == "page-0"  # one chunk has it: the first
    assert word not in hits[0]["text"].lower()


def test_title_is_found_in_every_chunk(store: HybridStore) -> None:
    store.store("page", PAGE)
    assert {hit["chunk_id"] for hit in store.search("machine room", mode="keyword")} == {
        "page-0",
        "page-1",
    }


@pytest.mark.parametrize("word", ["true", "draft"])
def test_keys_and_booleans_of_the_front_matter_are_no_words(store: HybridStore, word: str) -> None:
    store.store("page", PAGE)
    assert store.search(word, mode="keyword") == []


def test_a_title_is_found_by_meaning(store: HybridStore, embedder: TopicEmbedder) -> None:
    store.store("page", "---\ntitle: Puppy\n---\nIt sleeps.")
    store.store("other", "It wakes.")
    assert store.search("dog", mode="vector")[0]["doc_id"] == "page"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_document_of_nothing_but_front_matter_is_found_by_what_that_says(
    store: HybridStore, end: str
) -> None:
    card = end.join(
        ["---", "title: Ann Example", "email: ann@example.com", "tags: [people]", "---", ""]
    )
    assert store.store("people/ann", card) == 1
    [hit] = store.search("ann@example.com", mode="keyword")
    assert hit["text"] == "title: Ann Example\nemail: ann@example.com\ntags: [people]"
    assert (hit["start_line"], hit["end_line"], hit["heading_path"]) == (2, 4, "Ann Example")
    assert read(store, hit["citation"])["text"] == hit["text"]


def test_the_texts_to_embed_are_those_of_the_rows_under_their_hashes() -> None:
    steps = "".join(f"    - {word} the lid and wait for a quarter of an hour\n" for word in WORDS)
    text = f"# Kitchen\n\n- Soup\n{steps}\n## Notes\n\nSee [[Soup|the soup]].\n"
    prepared = prepare(Document("kitchen.md", text, {"title": "House"}), 120, 0)
    assert any(chunk["items"] for chunk in prepared.chunks)
    assert prepared.texts == texts_of(prepared.chunks)
    assert prepared.texts.keys() == {digest(of.encode()) for of in prepared.texts.values()}
