"""Documents read back: whole, by the lines of a citation, page by page; and nothing that was not indexed."""

import json
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hybrid_memory import HybridStore, QueryError, SourceError
from hybrid_memory.browse.passage import read
from hybrid_memory.sync.ingest import Ingest
from tests.conftest import TopicEmbedder

Notes = Callable[[dict[str, str | bytes]], Path]
ROOT = Path(__file__).parents[2]
CITATIONS = "select doc_id || '#L' || start_line || '-L' || end_line, content from chunks"
POEM = "one\ntwo\nthree\nfour\nfive\n"


@pytest.fixture
def poem(store: HybridStore, notes: Notes) -> Path:
    folder = notes({"poem.md": POEM})
    ingest(store, folder)
    return folder / "poem.md"


def ingest(store: HybridStore, folder: Path, **options: Any) -> None:
    assert not Ingest(store, **options).run([str(folder)]).errors


def pages(store: HybridStore, target: str, **bounds: int) -> list[dict[str, Any]]:
    found = [read(store, target, **bounds)]
    while found[-1]["next"]:
        found.append(read(store, found[-1]["next"], **bounds))
    return found


def test_whole_document(store: HybridStore, poem: Path) -> None:
    os.utime(poem, (1e9, 1e9))
    ingest(store, poem.parent)
    assert read(store, "memory/poem.md") == {
        "doc_id": "memory/poem.md",
        "path": str(poem),
        "text": "one\ntwo\nthree\nfour\nfive",
        "start_line": 1,
        "end_line": 5,
        "total_lines": 5,
        "citation": "memory/poem.md#L1-L5",
        "collection": "memory",
        "date": None,
        "date_from": None,
        "modified": "2001-09-09T01:46:40Z",
        "changed": False,
        "next": None,
    }


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("#L2-L3", "two\nthree"),
        ("#L2-3", "two\nthree"),
        ("#L4", "four"),
        (":2-3", "two\nthree"),
        (":5", "five"),
        ("#L4-L99", "four\nfive"),
        ("#L3C2", "hree"),
        ("#L3C3-L4", "ree\nfour"),
        ("#L3C9-L4", "\nfour"),
    ],
)
def test_lines_as_a_citation_or_a_terminal_writes_them(
    store: HybridStore, poem: Path, lines: str, text: str
) -> None:
    answer = read(store, f"memory/poem.md{lines}")
    assert (answer["text"], answer["next"]) == (text, None)


def test_names_that_differ_only_in_case_are_two_documents(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "small", "A.md": "capital"})
    ingest(store, folder)
    for name in ("memory/A.md", "A.md", "A", str(folder / "A.md"), "memory/A.md#L1"):
        assert read(store, name)["text"] == "capital", name
    assert read(store, "a")["text"] == "small"


def test_a_path_that_was_indexed_wins_over_the_one_that_it_links_to(
    store: HybridStore, notes: Notes
) -> None:
    folder = notes({"a.md": "file"})
    ingest(store, folder)
    linked = folder.parent / "linked"
    linked.mkdir()
    store.storage.connection.execute(
        "update documents set doc_id = 'z', source_path = ?", (str(linked / "a.md"),)
    )
    (linked / "a.md").symlink_to(folder / "a.md")
    ingest(store, folder)
    assert read(store, str(folder / "a.md"))["doc_id"] == "memory/a.md"
    assert read(store, str(linked / "a.md"))["doc_id"] == "z"


def test_a_deleted_working_directory_hides_no_document(
    store: HybridStore, poem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert read(store, "poem.md#L2")["text"] == read(store, f"{poem}:2")["text"] == "two"


def test_names_of_a_document(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes(
        {"people/ann.md": "ann", "ann.md": "another", "bob.md": "bob", "C# notes.md": "sharp"}
    )
    ingest(store, folder)
    os.symlink(folder, folder.parent / "link")
    monkeypatch.chdir(folder / "people")
    for name in ("memory/people/ann.md", "people/ann.md", "ann.md", "./ann.md", str(folder / "people/ann.md"), "../people/ann.md",
                 str(folder.parent / "link/people/ann.md")):  # fmt: skip
        assert read(store, name)["text"] == "ann", name
    assert read(store, "bob.md#L1")["doc_id"] == read(store, "bob")["doc_id"] == "memory/bob.md"
    assert read(store, "C# notes.md:1")["text"] == "sharp"
    monkeypatch.chdir(folder.parent)
    with pytest.raises(
        QueryError, match=r"'ann.md' is ambiguous: memory/ann.md, memory/people/ann.md. Use"
    ):
        read(store, "ann.md")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (
            "memory/peom.md",
            "no document 'memory/peom.md' in this memory; did you mean memory/poem.md?",
        ),
        ("poem.txt", "did you mean memory/poem.md?"),
        ("zebra", "no document 'zebra' in this memory; `hybrid-memory list` names all documents"),
        ("oem.md", "no document 'oem.md'"),
        ("", "no document ''"),
        ("%", "no document '%'"),
        ("a\0b", "no document"),
        ("\ud800", "no document"),
        ("memory/poem.md#L0", "memory/poem.md has no heading 'L0'; its headings: none"),
        ("memory/poem.md#L6", "memory/poem.md has 5 lines; there is no line 6"),
        ("memory/poem.md#L4-L2", "line 4 is after line 2"),
        ("memory/poem.md#L" + "9" * 5000, "memory/poem.md has no heading"),
        ("memory/poem.md#^a", "memory/poem.md has no block ^a"),
        ("nobody.md#Heading", "no document 'nobody.md#Heading'"),
    ],
)
def test_what_cannot_be_read_is_named(
    store: HybridStore, poem: Path, target: str, message: str
) -> None:
    with pytest.raises(QueryError) as error:
        read(store, target)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@given(
    st.lists(
        st.sampled_from(
            [
                *"poem.md memory/ #L : - L C 0 2 9 ../ / . ~ % * '".split(),
                "\0",
                "\ud800",
                "\udc80",
                "\n",
            ]
        ),
        max_size=8,
    )
)
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_target_is_the_document_or_an_error_of_ours(
    store: HybridStore, poem: Path, parts: list[str]
) -> None:
    with suppress(QueryError):
        answer = read(store, "".join(parts))
        assert answer["path"] == str(poem)
        assert answer["text"] in POEM


def test_only_indexed_documents_can_be_read(
    store: HybridStore, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": "in", "b.txt": "out", "../secret.md": "out"})
    ingest(store, folder)
    monkeypatch.chdir(folder)
    for target in (
        "b.txt",
        str(folder / "b.txt"),
        "../secret.md",
        "memory/../secret.md",
        "memory/a.md/../b.txt",
        "/etc/passwd#L1",
    ):
        with pytest.raises(QueryError, match="no document"):
            read(store, target)


def test_stored_texts_have_no_file(store: HybridStore) -> None:
    store.store("meeting:12", "\ufeffone\r\ntwo\rthree\n")
    store.store("poem.md", "stored")
    answer = read(store, "meeting:12")
    assert (answer["text"], answer["path"], answer["changed"], answer["total_lines"]) == (
        "one\ntwo\nthree",
        None,
        False,
        3,
    )
    assert read(store, "meeting:12:2")["text"] == "two"
    store.store("empty", "")
    assert (read(store, "empty")["text"], read(store, "empty")["citation"]) == ("", "empty#L1-L1")


def test_the_file_as_it_is_now_and_that_it_changed(store: HybridStore, poem: Path) -> None:
    poem.write_text("none\n" + POEM)
    answer = read(store, "memory/poem.md#L1-L2")
    assert (answer["text"], answer["changed"], answer["total_lines"]) == ("none\none", True, 6)
    poem.write_text("one\n")
    with pytest.raises(
        QueryError, match="has 1 line now, changed since it was indexed; there is no line 4"
    ):
        read(store, "memory/poem.md#L4-L5")
    ingest(store, poem.parent)
    assert read(store, "memory/poem.md")["changed"] is False


def test_file_that_is_gone_is_named_with_the_way_out(store: HybridStore, poem: Path) -> None:
    poem.unlink()
    with pytest.raises(
        SourceError,
        match=rf"{poem} is gone; `hybrid-memory delete --doc-id memory/poem.md` removes it",
    ):
        read(store, "poem.md")
    poem.parent.rmdir()
    poem.parent.write_text("a file")
    with pytest.raises(SourceError, match="is gone"):
        read(store, "poem.md")


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_link_put_in_the_place_of_a_file_or_folder_leads_nowhere(
    store: HybridStore, notes: Notes, tmp_path: Path, swapped: str
) -> None:
    folder = notes({"sub/a.md": "mine"})
    ingest(store, folder)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.md").write_text("not yours")
    (folder / "sub/a.md").unlink()
    if swapped == "file":
        (folder / "sub/a.md").symlink_to(tmp_path / "elsewhere/a.md")
    else:
        (folder / "sub").rmdir()
        (folder / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SourceError, match="reached by a symbolic link and is not the indexed file"):
        read(store, "memory/sub/a.md")


def test_what_was_indexed_through_a_link_is_read_through_it(
    store: HybridStore, notes: Notes, tmp_path: Path
) -> None:
    folder = notes({"a.md": "mine"})
    (tmp_path / "elsewhere.md").write_text("linked")
    (folder / "b.md").symlink_to(tmp_path / "elsewhere.md")
    ingest(store, folder, follow_symlinks=True)
    assert read(store, "memory/b.md")["text"] == "linked"


def test_fifo_in_the_place_of_a_file_blocks_nobody(store: HybridStore, poem: Path) -> None:
    poem.unlink()
    os.mkfifo(poem)
    with pytest.raises(SourceError, match="cannot read .*: no longer a regular file"):
        read(store, "poem.md")


def test_unreadable_and_overgrown_files_are_named(store: HybridStore, poem: Path) -> None:
    store.config["max_file_bytes"] = 30
    poem.write_text("x" * 31)
    with pytest.raises(SourceError, match=r"larger than max_file_bytes \(30\)"):
        read(store, "poem.md")
    poem.unlink()
    poem.symlink_to(poem)
    with pytest.raises(SourceError, match="cannot read .*symbolic links"):
        read(store, "poem.md")


def test_name_that_is_not_unicode(store: HybridStore, notes: Notes) -> None:
    folder = notes({"a.md": "text"})
    name = os.fsdecode(b"caf\xe9.md")
    (folder / name).write_text("one\ntwo")
    ingest(store, folder)
    for target in ("memory/caf\\udce9.md", "caf\\udce9.md", name, str(folder / name)):
        assert read(store, f"{target}#L2")["text"] == "two", target


def test_bytes_that_are_not_utf8_are_read_as_they_were_indexed(
    store: HybridStore, notes: Notes
) -> None:
    ingest(store, notes({"a.md": b"caf\xe9 gpu"}))
    assert read(store, "a.md")["text"] == store.search("gpu", 1)[0]["text"] == "caf\ufffd gpu"


def test_pages_of_a_long_document_go_on_where_the_last_ended(
    store: HybridStore, notes: Notes
) -> None:
    text = "\n".join(f"line {i}" for i in range(1, 501))
    ingest(store, notes({"long.md": text}))
    found = pages(store, "long.md")
    assert [(page["start_line"], page["end_line"]) for page in found] == [
        (1, 200),
        (201, 400),
        (401, 500),
    ]
    assert found[0]["next"] == "memory/long.md#L201-L500"
    assert "\n".join(page["text"] for page in found) == text
    assert [page["text"] for page in pages(store, "long.md#L3-L5", max_lines=2)] == [
        "line 3\nline 4",
        "line 5",
    ]
    assert max(len(page["text"]) for page in pages(store, "long.md", max_chars=1000)) <= 1000


@given(
    text=st.text(st.sampled_from("ab \n\r\f\x0b\x85\u2028é#")),
    max_lines=st.integers(1, 5),
    max_chars=st.integers(1, 12),
)
@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_pages_together_are_the_document(
    store: HybridStore, text: str, max_lines: int, max_chars: int
) -> None:
    store.store("x", text)
    together, found = "", pages(store, "x", max_lines=max_lines, max_chars=max_chars)
    for page in found:
        together += page["text"]
        if page["next"] and not page["next"].startswith(f"x#L{page['end_line']}C"):
            together += "\n"
        assert len(page["text"]) <= max_chars
        assert page["end_line"] - page["start_line"] < max_lines
    assert together == text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n")


MARKDOWN = st.lists(
    st.sampled_from(["# Head", "## Sub", "", " ", "some words here", "---", "key: value", "```", "\f", "a\x0bb", "x\u2028y", "x\x85",
                     "word " * 40, "字" * 130, "\ufeff"])
)  # fmt: skip


@given(
    lines=MARKDOWN, end=st.sampled_from(["\n", "\r\n", "\r"]), size=st.sampled_from([20, 100, 512])
)
@settings(max_examples=40, deadline=None)
def test_a_citation_gives_lines_that_hold_the_chunk(lines: list[str], end: str, size: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        HybridStore(
            ":memory:", {"provider": "none", "chunk_size": size, "chunk_overlap": 9}
        ) as store,
    ):
        Path(folder, "a.md").write_bytes(end.join(lines).encode())
        ingest(store, Path(folder))
        for citation, content in store.storage.connection.execute(CITATIONS).fetchall():
            answer = read(store, citation)
            assert content in answer["text"] or is_within(content, answer["text"])
            assert answer["citation"] == citation


def test_every_citation_of_our_documentation_holds_its_chunk(tmp_path: Path) -> None:
    with HybridStore(tmp_path / "m.db", {"provider": "none"}) as store:
        ingest(store, ROOT / "docs", patterns=["*.md"])
        citations = store.storage.connection.execute(CITATIONS).fetchall()
        assert len(citations) > 150
        pages = [(content, read(store, citation)["text"]) for citation, content in citations]
        assert all(is_within(content, page) or "<!--" in page for content, page in pages)
        hits = store.search("how do I index a workspace?", 20)
        assert hits
        assert all(is_within(hit["text"], read(store, hit["citation"])["text"]) for hit in hits)


def is_within(chunk: str, page: str) -> bool:
    """Whether a chunk is the page without what is not indexed, and below the header of its table."""
    if "\n|---" in chunk and chunk not in page:
        chunk = chunk.split("\n|---")[-1].partition("\n")[2]
    lines = iter([" ".join(line.split()) for line in page.split("\n")])
    rows = [" ".join(row.split()) for row in chunk.split("\n")]
    return all(
        any(row.replace("…", "") in line or "…" in row for line in lines) for row in rows if row
    )


SESSION = [
    {"type": "session", "id": "1"},
    {"type": "message", "message": {"role": "user", "content": "What is the token?\nOf GitHub."}},
    {"type": "message", "message": {"role": "toolResult", "content": "not for the memory"}},
    {
        "type": "message",
        "message": {
            "role": "assistant",
            "content": [{"type": "text", "text": "It is ghp_" + "a1" * 18 + "."}],
        },
    },
    {"type": "message", "message": {"role": "user", "content": "word " * 300}},
]


def test_transcript_is_read_as_it_was_indexed_with_its_secrets_masked(
    store: HybridStore, tmp_path: Path
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in SESSION))
    ingest(store, path)
    first = read(store, "sessions/one.jsonl#L2-L4")
    assert first["text"] == "User: What is the token?\nOf GitHub.\n\nAssistant: It is [redacted]."
    assert (first["total_lines"], first["changed"], first["next"]) == (5, False, None)
    assert read(store, "one.jsonl#L3")["text"] == ""
    for citation, content in store.storage.connection.execute(CITATIONS).fetchall():
        assert content.removeprefix("User: ") in read(store, citation)["text"]
    with path.open("a") as stream:
        stream.write(json.dumps(SESSION[1]) + "\n")
    assert (read(store, "one.jsonl")["total_lines"], read(store, "one.jsonl")["changed"]) == (
        6,
        True,
    )


def test_transcript_in_whose_place_a_link_was_put_leads_nowhere(
    store: HybridStore, tmp_path: Path
) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(SESSION[1]) + "\n")
    ingest(store, path)
    path.rename(tmp_path / "kept.jsonl")
    (tmp_path / "other.jsonl").write_text(json.dumps(SESSION[3]) + "\n")
    path.symlink_to(tmp_path / "other.jsonl")
    with pytest.raises(SourceError, match="reached by a symbolic link"):
        read(store, "one.jsonl")


def test_bounds_must_be_positive(store: HybridStore, poem: Path, embedder: TopicEmbedder) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        read(store, "poem.md", max_lines=0)
