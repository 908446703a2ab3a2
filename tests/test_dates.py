import pytest

from hybrid_memory.dates import document_date


@pytest.mark.parametrize(
    ("doc_id", "metadata", "date"),
    [
        ("memory/2026-01-05.md", {}, "2026-01-05"),
        ("memory/2026-01-05-standup.md", {}, "2026-01-05"),
        ("memory/2026/01/05.md", {}, "2026-01-05"),
        ("notes/2026-01/x.md", {}, "2026-01"),
        ("notes/2026-01/2026-01-07.md", {}, "2026-01-07"),
        ("notes/2026-01-07/part-2025-11.md", {}, "2026-01-07"),
        ("a.md", {"date": "2025-12-31"}, "2025-12-31"),
        ("a.md", {"date": "2025-12-31T10:00:00Z"}, "2025-12-31"),
        ("2026-01-05.md", {"date": "2020-01-01"}, "2026-01-05"),
        ("a.md", {"date": "soon"}, None),
        ("a.md", {"date": 5}, None),
        ("v2.0/12026-01-05.md", {}, None),
        ("2026-13-05.md", {}, None),
        ("2026-01-05123.md", {}, "2026-01"),
        ("readme.md", {}, None),
    ],
)
def test_date_comes_from_the_path_else_from_the_front_matter(doc_id: str, metadata: dict[str, object], date: str | None) -> None:
    assert document_date(doc_id, metadata) == date
