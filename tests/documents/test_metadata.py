"""Metadata that is not YAML: how each form is read, and what only looks like one."""

from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.documents.front_matter import MAX_METADATA
from hybrid_memory.documents.markdown import chunk_text, parse
from hybrid_memory.documents.metadata import metadata_of
from tests.command import Run, answer

ID = "0123456789abcdef0123456789abcdef"
JOPLIN = f"""Harbour

The marten sleeps.

id: {ID}
parent_id: {ID[::-1]}
created_time: 2026-03-08T10:00:00.000Z
is_conflict: 0
author:
source_url: https://example.org/a
todo_due: 0
markup_language: 1
type_: 1"""
BODY = "\nThe otter swims.\n"


@pytest.mark.parametrize(
    ("text", "metadata", "lines"),
    [
        ('+++\ntitle = "Otter"\nTags = ["a", "b"]\n+++\n', {"title": "Otter", "tags": ["a", "b"]}, 4),
        ("+++\ndate = 2026-03-08T10:00:00Z\n+++\n", {"date": "2026-03-08T10:00:00+00:00"}, 3),
        ("+++\nday = 2026-03-08\n[extra]\nMax = 1.5\n+++\n", {"day": "2026-03-08", "extra": {"max": 1.5}}, 5),
        ("\ufeff+++\r\ndraft = true\r\n+++\r\n", {"draft": True}, 3),
        ('{\n  "Title": "Otter",\n  "tags": "a, b",\n  "x": null\n}\n', {"title": "Otter", "tags": ["a", "b"]}, 5),
        ('{"port": 22, "most": 1e999}\n', {"port": 22, "most": "inf"}, 1),
        ("+++\na = nan\n+++\n", {"a": "nan"}, 3),
        ("% Otter\n% Ann; Bob\n% March 2026\n", {"title": "Otter", "author": "Ann; Bob", "date": "March 2026"}, 3),
        ("% Otter\n  swims\n%\n% 2026-03-08\n", {"title": "Otter swims", "date": "2026-03-08"}, 4),
        ("# Otter\n\nStatus: Done\nTags: engine, aviation\n", {"status": "Done", "tags": ["engine", "aviation"]}, 0),
    ],
)  # fmt: skip
def test_each_form_is_metadata(text: str, metadata: dict[str, Any], lines: int) -> None:
    assert metadata_of(text + BODY) == (metadata, lines, (), None, None)


@pytest.mark.parametrize(
    "text",
    [
        "+++\nplus\n",
        '{\n  "title": "a file of JSON"\n}\n',
        '{"a": 1} begins a sentence.\n',
        "{}\n\ntext",
        "%comment of a program\n",
        "# Otter\n\nStatus: Done\n\nOne line is a sentence.",
        "# Otter\n\nStatus: Done\nThe next line is not a property.\n\ntext",
        "# Otter\n\nSee: this\n- and: that\n\ntext",
        "# Otter\nStatus: Done\nTags: a\n\nDirectly below the title.",
        f"Text\n\nid: {ID[1:]}\nname: x\ntype_: 1",
    ],
)
def test_other_texts_have_no_metadata(text: str) -> None:
    assert metadata_of(text) == ({}, 0, (), None, None)


def test_the_block_of_joplin_is_metadata_and_no_text() -> None:
    parsed = parse(JOPLIN, {})
    assert parsed.metadata == {
        "title": "Harbour",
        "created": "2026-03-08T10:00:00.000Z",
        "source_url": "https://example.org/a",
    }
    assert [chunk.text for chunk in chunk_text(JOPLIN)] == ["Harbour\n\nThe marten sleeps."]
    assert [(chunk.start_line, chunk.end_line) for chunk in chunk_text(JOPLIN)] == [(1, 3)]


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("Otters\n\n", "parent_id: \nicon: \ntype_: 2"),  # a folder
        (
            "",
            'item_type: 1\nbody_diff: "[{\\"diffs\\":[[0,\\"The otter\\"]]}]"\ntype_: 13',
        ),  # a version
    ],
)
def test_other_files_of_joplin_have_no_text(
    head: str, fields: str, tmp_path: Path, run: Run
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / f"notes/{ID}.md").write_text(f"{head}id: {ID}\n{fields}", "utf-8")
    (tmp_path / "notes/b.md").write_text(JOPLIN.replace("sleeps", f"sleeps ![](:/{ID})"), "utf-8")
    done = run("ingest", "--path", str(tmp_path / "notes"))
    report = answer(done)
    assert (report["files"], report["chunks"]) == (1, 1)
    assert report["skipped_by"] == {"Joplin item": 1}
    assert "without text: 1 item of Joplin that is no note" in done.stderr
    again = answer(run("ingest", "--path", str(tmp_path / "notes"), "--incremental"))
    assert again["skipped_by"] == {"unchanged": 2}
    assert answer(run("links", "--broken"))["broken"] == []
    assert answer(run("search", "otter", "--mode", "keyword")) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("+++\ntitle = Otter\n+++\n", "line 1: the front matter is not TOML: "),
        ('+++\ntitle = "Otter"\n', "line 1: no line +++ closes the front matter; it is read as text"),
        ('{\n"title": "Otter",\n}\n', "line 1: the front matter is not JSON: "),
        ("+++\na = " + "[" * 5000 + "\n+++\n", "line 1: the front matter is not TOML: "),
        ('{"a": ' + "[" * 200_000 + "\n", "line 1: the front matter is not JSON: "),
    ],
)  # fmt: skip
def test_a_block_that_cannot_be_read_is_text_and_is_reported(text: str, problem: str) -> None:
    found = metadata_of(text + BODY)
    assert (found.metadata, found.lines) == ({}, 0)
    assert [reason.startswith(problem) for reason in found.problems] == [True]


@pytest.mark.parametrize(("begin", "end"), [('+++\na = "', '"\n+++\n'), ('{"a": "', '"}\n')])
def test_a_block_that_is_too_long_is_left_out_and_reported(begin: str, end: str) -> None:
    found = metadata_of(begin + "x" * MAX_METADATA + end + BODY)
    assert found.metadata == {}
    assert found.lines > 0
    assert found.problems == ("line 1: the front matter is too long; it is left out",)


def test_it_filters_and_dates_notes(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "toml.md").write_text(f"+++\ndate = 2026-03-08\ndraft = true\n+++\n{BODY}", "utf-8")
    (notes / "bad.md").write_text(f"+++\ndraft = yes\n+++\n{BODY}", "utf-8")
    (notes / "joplin.md").write_text(JOPLIN, "utf-8")
    report = answer(run("ingest", "--path", str(notes)))
    assert report["warnings_by"]["front matter"] == 1
    [found] = answer(run("search", "otter", "--where", "draft=true"))
    assert found["doc_id"] == "notes/toml.md"
    dates = {entry["doc_id"]: entry["date"] for entry in answer(run("list"))["documents"]}
    assert dates == {
        "notes/toml.md": "2026-03-08",
        "notes/joplin.md": "2026-03-08",
        "notes/bad.md": None,
    }
    assert answer(run("search", "markup_language", "--mode", "keyword")) == []
