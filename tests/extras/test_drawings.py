"""Drawings: notes of Obsidian's Excalidraw plugin, Excalidraw's own files, and canvases."""

import json
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.lists import links
from hybrid_memory.extras.formats import drawings
from hybrid_memory.extras.formats.extracted import ExtractError
from hybrid_memory.sync.ingest import Ingest

NOTE = """\
---
excalidraw-plugin: parsed
tags: [excalidraw, plans]
---
==⚠  Switch to EXCALIDRAW VIEW in the MORE OPTIONS menu of this document. ⚠==

My own words on the boiler.

# Excalidraw Data
## Text Elements
Kettle of the cellar ^Kx81_aBc

Valve leaks
into the sink ^9ZQabcde

## Element Links
Kx81_aBc: [[Boiler]]

## Embedded Files
0123456789abcdef0123456789abcdef01234567: [[gauge.png]]

%%
## Drawing
```compressed-json
N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATLZMzYBXUtiRoIACyhQ4zZAHoFAc0JRJQgEYA6bGwC2CgF7N6hbEcK4OCtptbErHALRY8RMpWdx8Q1TdIEfARcZgRmBShcZQUebTi4gg4kWgJpZnpJOiCEfQQOKGZuAG1wMFAwUogSbggEoQAGLHpKgE4AdlKIWEqAMzgABnwAWWDmCCtaTAACEYhZmABBTiAA
```
%%
"""


def texts(store: HybridStore, doc_id: str) -> list[str]:
    with store.storage.snapshot():
        rows = store.storage.chunks.rows(store.storage.chunks.at(doc_id, 0, 10**6))
    return [row.text for row in rows.values()]


def test_of_a_note_with_a_drawing_the_words_are_text_with_their_lines(
    store: HybridStore, tmp_path: Path
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/Boiler plan.excalidraw.md").write_text(NOTE)
    (tmp_path / "notes/Boiler.md").write_text("A boiler.")
    report = Ingest(store).run([str(tmp_path / "notes")])
    assert (report.files, report.errors) == (2, [])
    doc_id = "notes/Boiler plan.excalidraw.md"
    [text] = texts(store, doc_id)
    assert [line for line in text.split("\n") if line] == [
        "My own words on the boiler.",
        "Kettle of the cellar",
        "Valve leaks",
        "into the sink",
        "[[Boiler]]",
        "[[gauge.png]]",
    ]
    [hit] = store.search("valve leaks sink", 1)
    assert (hit["doc_id"], hit["start_line"]) == (doc_id, 7)
    targets = [link["target"] for link in links(store, doc_id)["links"]]
    assert targets == ["Boiler", "gauge.png"]
    assert [hit["doc_id"] for hit in store.search("tag:plans valve")] == [doc_id]


BOARD = """\
---
kanban-plugin: board
---

## To do

- [ ] Ask the plumber

## Done

**Complete**
- [x] Order the valve

***

## Archive

- [x] Old card

%% kanban:settings
```
{"kanban-plugin":"board","list-collapse":[false,false]}
```
%%
"""


@pytest.mark.parametrize(
    ("name", "text", "shown", "hidden"),
    [
        ("plan.md", NOTE, "Kettle of the cellar", "compressed-json"),
        (
            "plan.txt",
            NOTE.partition("```")[0] + '{"versionNonce": 1}\n%%\n',
            "Kettle",
            "versionNonce",
        ),
        ("plan.md", BOARD, "Ask the plumber", "list-collapse"),
        ("plan.txt", BOARD, "Old card", "Complete"),
        (
            "plan.md",
            BOARD.replace("\n```\n", "").replace("\n%%\n", " %%\n"),
            "Old card",
            "kanban:settings",
        ),
    ],
)
def test_the_key_of_a_plugin_chooses_the_reader_whatever_the_name(
    store: HybridStore, tmp_path: Path, name: str, text: str, shown: str, hidden: str
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / name).write_text(text)
    Ingest(store, patterns=["*.md", "*.txt"]).run([str(tmp_path / "notes")])
    indexed = "\n".join(texts(store, f"notes/{name}"))
    assert shown in indexed
    assert hidden not in indexed
    (tmp_path / "notes" / name).write_text(text.replace("-plugin:", "-plug:"))
    Ingest(store, patterns=["*.md", "*.txt"]).run([str(tmp_path / "notes")])
    assert hidden in "\n".join(texts(store, f"notes/{name}"))


def drawn(*elements: Any, **more: Any) -> bytes:
    return json.dumps({"type": "excalidraw", "elements": elements} | more).encode()


def test_a_drawing_is_its_texts_from_top_to_bottom() -> None:
    data = drawn(
        {"type": "text", "x": 0, "y": 50, "text": "second", "originalText": "second one"},
        {"type": "text", "x": 9, "y": 0, "text": "# first", "link": "[[Boiler]]"},
        {"type": "text", "x": 0, "y": 9, "text": "deleted", "isDeleted": True},
        {"type": "rectangle", "x": 0, "y": 9, "link": None},
        {"type": "frame", "x": 0, "y": 99, "name": "The frame"},
        files={"a": {"dataURL": "data:image/png;base64,AAAA"}},
    )
    found = drawings.excalidraw(data)
    assert found.text == "    # first\n\n[[Boiler]]\n\nsecond one\n\nThe frame\n"


def test_a_canvas_is_its_texts_and_files_below_the_groups_around_them() -> None:
    box = {"width": 10, "height": 10}
    canvas = {
        "nodes": [
            {"type": "text", "x": 60, "y": 60, "text": "Inside of it.", **box},
            {"type": "group", "x": 50, "y": 50, "width": 100, "height": 100, "label": "Cellar"},
            {"type": "group", "x": 0, "y": 0, "width": 500, "height": 500, "label": "House"},
            {"type": "text", "x": 900, "y": 0, "text": "# Outside\n\nof all", **box},
            {"type": "file", "x": 1, "y": 1, "file": "a/Boiler.md", "subpath": "#Valve", **box},
            {"type": "link", "x": 2, "y": 2, "url": "https://example.com", **box},
        ],
        "edges": [{"fromNode": "a", "toNode": "b", "label": "leads to"}],
    }
    assert drawings.canvas(json.dumps(canvas).encode()).text == (
        "# Outside\n\nof all\n\n# House\n\n[[a/Boiler.md#Valve]]\n\n<https://example.com>\n\n"
        "# Cellar\n\nInside of it.\n\nleads to\n"
    )


@pytest.mark.parametrize("read", [drawings.excalidraw, drawings.canvas])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"nodes": {}, "elements": "x"}',
        b'{"nodes": [1, {"type": []}, {"type": "text", "text": 3, "x": "y"}], "elements": [[], {"text": null}]}',
    ],
)
def test_what_is_not_as_it_should_be_costs_its_own_text(read: Any, data: bytes) -> None:
    assert read(data).text.strip() == ""


@pytest.mark.parametrize("read", [drawings.excalidraw, drawings.canvas])
@pytest.mark.parametrize("data", [b"x", b"[]"])
def test_what_is_no_drawing_is_an_error_that_says_so(read: Any, data: bytes) -> None:
    with pytest.raises(ExtractError, match="cannot be read as a drawing"):
        read(data)
