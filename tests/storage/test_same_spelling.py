"""One spelling, whatever a note or a filter writes: every comparison with the words of a user."""

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.documents.document import Document
from hybrid_memory.extras.why.explain import explain
from hybrid_memory.storage.filter_values import resolved
from hybrid_memory.storage.filters import Filters
from hybrid_memory.storage.targets import find
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.text.equality import anchor_key, heading_key, name_key, spelled

Spelling = Callable[[str], str]


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def nfd(text: str) -> str:
    return unicodedata.normalize("NFD", text)


def wide(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if c.isascii() and c.isalnum() else c for c in text)


def typographic(text: str) -> str:
    return text.replace("'", "\u2019").replace("-", "\u2013").replace(" ", "\u00a0")


SPELLINGS: list[Spelling] = [nfc, nfd, str.upper, str.title, wide, typographic]
NAME = "réunion d'été - notes"


@pytest.mark.parametrize("written", SPELLINGS)
@pytest.mark.parametrize("asked", SPELLINGS)
def test_all_spellings_have_one_key(written: Spelling, asked: Spelling) -> None:
    assert spelled(written(NAME)) == spelled(asked(NAME))
    assert name_key(f" {written(NAME)} ") == name_key(asked(NAME))
    assert heading_key(written(NAME)) == heading_key(asked(NAME))
    assert anchor_key(written(NAME)) == anchor_key(asked(NAME)) == "réuniondéténotes"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("réunion", "reunion"),
        ("C++", "C#"),
        ("a-b", "a b"),
        ("a/b", "ab"),
        ("x2", "x-2"),
        ("だ", "た"),
    ],
)
def test_different_names_have_different_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


def ingest(store: HybridStore, folder: Path, **options: Any) -> None:
    Ingest(store, **options).run([str(folder)])


def put(store: HybridStore, doc_id: str, text: str, metadata: dict[str, Any]) -> None:
    document = Document(doc_id, text, metadata, collection=doc_id.partition("/")[0])
    with store.storage.transaction():
        store.storage.documents.put(store.prepare(document), {})


@pytest.mark.both_engines
def test_a_filter_finds_a_note_in_any_spelling(store: HybridStore) -> None:
    folder = nfd(NAME)
    metadata = {"tags": [folder], nfd("thème"): folder}
    put(store, f"{folder}/note.md", f"# {folder}\n\nThe fridge hums.", metadata)
    put(store, "other/plain.md", "# Other\n\nThe fridge hums.", {})
    for filters in (
        *(
            filters
            for name, theme in ((asked(NAME), asked("thème")) for asked in SPELLINGS)
            for filters in (
                Filters(tags=[name]),
                Filters(where={theme: name}),
                Filters(inside=f"{name}/*"),
                Filters(heading=name),
                Filters(collection=name),
            )
        ),
        Filters(excluded=[Filters(inside="other/*")]),
    ):
        hits = store.search("fridge", filters=filters)
        assert [hit["doc_id"] for hit in hits] == [f"{folder}/note.md"], filters


def test_an_operator_finds_a_note_in_any_spelling(store: HybridStore) -> None:
    name = nfd("réunion")
    put(store, f"{name}/note.md", "The fridge hums.", {"tags": [name], "theme": name})
    put(store, "other/plain.md", "The fridge hums.", {})
    for word in (asked("réunion") for asked in SPELLINGS):
        for operator in (f"tag:{word}", f"in:{word}", f"where:theme={word}", "-in:other"):
            hits = store.search(f"{operator} fridge")
            assert [hit["doc_id"] for hit in hits] == [f"{name}/note.md"], operator


def test_tags_list_one_tag_for_all_spellings(store: HybridStore) -> None:
    for number, spelling in enumerate(SPELLINGS):
        put(store, f"n/{number}.md", "text", {"tags": [spelling("réunion")]})
    assert store.storage.links.tags() == [("réunion", len(SPELLINGS))]


def test_a_collection_that_exists_is_meant_as_written(store: HybridStore) -> None:
    put(store, "Notes/a.md", "fridge", {})
    put(store, "notes/a.md", "fridge", {})
    assert resolved(store.storage, Filters(collection="notes")).collection == "notes"
    assert resolved(store.storage, Filters(collection="Notes")).collection == "Notes"


@pytest.mark.both_engines
def test_a_server_bound_is_matched_as_written(store: HybridStore) -> None:
    put(store, "Public/a.md", "fridge", {})
    put(store, "public/a.md", "fridge", {})
    hits = store.search("fridge", filters=Filters(within="public/*"))
    assert [hit["doc_id"] for hit in hits] == ["public/a.md"]


def test_a_path_is_found_in_another_normalization(store: HybridStore, tmp_path: Path) -> None:
    folder = tmp_path / "v" / nfd("Hôtel")
    folder.mkdir(parents=True)
    note = folder / nfd("Ñandú’s.md")
    note.write_text(nfd("# Über uns\n\nThe fridge hums.\n"))
    ingest(store, tmp_path / "v")
    for path in (str(note), nfc(str(note)), nfc(str(note)).replace("’", "'")):
        assert explain(store, path)["current"], path
    assert read(store, "Ñandú's#Über uns")["text"] == nfd("# Über uns\n\nThe fridge hums.")
    assert find(store.storage, nfc(str(note)))[0] == os.path.relpath(note, tmp_path)


def test_exclude_leaves_out_any_spelling(store: HybridStore, tmp_path: Path) -> None:
    folder = tmp_path / "v" / nfd("Été")
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("fridge")
    (tmp_path / "v" / "b.md").write_text("fridge")
    for spelling in SPELLINGS:
        ingest(store, tmp_path / "v", exclude=[spelling("Été") + "/*"])
        assert store.storage.catalog.ids() == ["v/b.md"]
        ingest(store, tmp_path / "v")
        assert len(store.storage.catalog.ids()) == 2


HEADINGS = [  # (heading, its anchor on GitHub)
    ("GPU server: log in!", "gpu-server-log-in"),
    ("C++ & C#", "c--c"),
    ("[[2026-09-09]] 14:13", "2026-09-09-1413"),
    ("Link [text](https://example.org/a_(b)) here", "link-text-here"),
    ("![Logo](a.png) Brand", "logo-brand"),
    ("🎉", ""),
    ("Plan—next step", "plannext-step"),
    ("O’Brien’s notes", "obriens-notes"),
    ("a_b and c_d", "a_b-and-c_d"),
    ("`code` in it", "code-in-it"),
    ("**Bold** and *soft*", "bold-and-soft"),
    ("日本語 の 見出し", "日本語-の-見出し"),
    ("[[people/Ann|Ann]] and Bob", "ann-and-bob"),
]


@pytest.mark.parametrize(("heading", "anchor"), HEADINGS)
def test_a_heading_is_found_by_its_text_and_its_anchor(
    store: HybridStore, tmp_path: Path, heading: str, anchor: str
) -> None:
    note = tmp_path / "v" / "note.md"
    note.parent.mkdir()
    note.write_text(f"# Before\n\nnothing\n\n## {heading}\n\nthe fridge\n\n## After\n\nmore\n")
    ingest(store, note.parent)
    for name in filter(None, (heading, anchor, nfd(heading), typographic(heading))):
        assert "fridge" in read(store, f"note#{name}")["text"], name
        assert "more" not in read(store, f"note#{name}")["text"], name
    for name in (heading, anchor):
        if any(map(str.isalnum, name)):
            hits = store.search("fridge", filters=Filters(heading=name))
            assert [hit["doc_id"] for hit in hits] == ["v/note.md"], name


def test_headings_with_signs_are_told_apart(store: HybridStore, tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    text = "# C++\n\nplus\n\n# C#\n\nsharp\n\n## Notes\n\none\n\n## Notes\n\ntwo\n"
    (tmp_path / "v" / "note.md").write_text(text)
    (tmp_path / "v" / "C#.md").write_text("# Intro\n\nlanguage\n")
    (tmp_path / "v" / "links.md").write_text("See [[C#]] and [[C#|sharp]].\n")
    ingest(store, tmp_path / "v")
    assert "plus" in read(store, "note#C++")["text"]
    assert "sharp" in read(store, "note#C#")["text"]
    assert "one" in read(store, "note#C##Notes")["text"]
    assert "one" in read(store, "note#notes")["text"]
    assert "two" in read(store, "note#notes-1")["text"]
    assert "language" in read(store, "C##Intro")["text"]
    assert read(store, "[[C#]]")["doc_id"] == "v/C#.md"
    assert not store.storage.links.broken()
    links = store.storage.links.links_of("v/links.md")
    assert {link.doc_id for link in links} == {"v/C#.md"}
