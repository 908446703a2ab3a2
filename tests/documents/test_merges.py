"""Notes with a conflict that git left in them."""

from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.markdown import chunks, parse, without_merge_marks
from hybrid_memory.sync.ingest import Ingest

TWO = "<<<<<<< HEAD\nThe host is alpha.\n=======\nThe host is beta.\n>>>>>>> laptop\n"
THREE = TWO.replace("=======", "||||||| 12ab\nThe host was gamma.\n=======")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"# Server\n\n{TWO}\nMore.\n", [3]),
        (f"# Server\n\n{THREE}\nMore.\n", [3]),
        (f"# Server\r\n\r\n{TWO}".replace("\n", "\r\n").replace("\r\r", "\r"), [3]),
        (f"# Server\n\n{TWO}text\n{TWO}", [3, 9]),
        (f"---\n{TWO.replace('The host is', 'host:')}---\n# Server\n", [2]),
        (f"# Server\n\n```\n{TWO}```\n", []),  # an example
        ("# Server\n\n<<<<<<< HEAD\nalpha\n", []),
        ("# Server\n\ntitle\n=======\n>>>>>>> quoted\n", []),
    ],
)
def test_the_marks_are_no_text_and_no_headings(text: str, lines: list[int]) -> None:
    parsed = parse(text, {})
    assert list(parsed.merges) == lines
    assert parsed.text.count("\n") == text.count("\n")
    if lines:
        assert not any(mark in parsed.text for mark in ("<<<<", "====", ">>>>", "||||"))
        assert {chunk.heading for chunk in chunks(parsed, 512, 50)} == {"Server"}


def test_a_conflict_takes_linear_time() -> None:
    for unit in ("<<<<<<< a\n", "=======\n", ">>>>>>> a\n", TWO):
        text, _ = without_merge_marks(unit * 100_000)
        assert len(text.split("\n")) == unit.count("\n") * 100_000 + 1


def test_a_note_with_a_conflict_is_read_with_a_warning(store: HybridStore, tmp_path: Path) -> None:
    (tmp_path / "s.md").write_text(f"# Server\n\n{TWO}")
    report = Ingest(store).run([str(tmp_path / "s.md")])
    [warning] = report.warnings
    assert (report.files, warning["kind"]) == (1, "merge conflict")
    assert warning["reason"].startswith("line 3: git could not merge")
    [hit] = store.search("host beta", 1)
    assert (hit["heading_path"], hit["doc_id"]) == ("Server", "s.md")
