"""Dates of documents: every form that authors and tools write, in front matter, names and heads."""

from datetime import date
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents.document import Document
from hybrid_memory.extras.doctor import examine
from hybrid_memory.storage.filters import Filters
from hybrid_memory.text.dates import age, document_date, heading_day

DAY = "2026-03-14"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-14", DAY),
        ("2026.03.14", DAY),
        ("2026/3/14", DAY),
        ("20260314", DAY),
        ("202603141030", DAY),
        ("2026-03-14T10:00:00+01:00", DAY),
        ("Sat, 14 Mar 2026 10:00:00 +0100", DAY),
        ("14 марта 2026", DAY),
        ("2026年3月14日", DAY),
        ("14/03/2026", DAY),
        ("1773482400", DAY),
        ("[[2026-03-14]]", DAY),
        ("<2026-03-14 Sat>", DAY),
        ("2026-W11", "2026-03-09"),
        ("2026", "2026"),
        ("03/04/2026", None),
        ("2026-02-30", None),
        ("about 2026-03-14", None),
        ("", None),
    ],
)
def test_dates_of_front_matter(value: str, expected: str | None) -> None:
    assert document_date("n/note.md", {"date": value}) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("202603141030 x.md", DAY),
        ("c-20260314-0815.md", DAY),
        ("14.03.2026.md", DAY),
        ("2026年3月14日.md", DAY),
        ("March 14, 2026.md", DAY),
        ("2025-04/april-16.md", "2025-04-16"),
        ("2025-04/may-16.md", "2025-04"),
        ("2026-W11.md", "2026-03-09"),
        ("03-04-2026.md", None),
        ("order 12345678.md", None),
        ("20261399.md", None),
        ("v2.3.1.md", None),
    ],
)
def test_dates_of_names(name: str, expected: str | None) -> None:
    assert document_date(f"n/{name}", {}) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("# 3. Use one queue\n\nDate: 2026-03-14\n\n## Status\n", DAY),
        ("- Feature name: `heron`\n- Start Date: 2026-03-14\n", DAY),
        ("# GPU\n\n**Status**: done\n**Date**: 2026-03-14\n", DAY),
        ("# GPU\n\n> Created on: 2026-03-14\n", DAY),
        ("# GPU\n\nUpdated: March 14, 2026\n", DAY),
        ("# GPU\n\nDate: 03/04/2026\n", None),
        ("# GPU\n\nThe date: it was 2026-03-14.\n", None),
        ("# GPU\n\nOn 2026-03-14 it broke.\n", None),
        ("# GPU\n\n" + "filler\n" * 400 + "Date: 2026-03-14\n", None),
    ],
)
def test_dates_of_heads(head: str, expected: str | None) -> None:
    assert document_date("n/note.md", {}, text=head) == expected


def test_a_line_at_the_top_counts_after_everything_else() -> None:
    head = "Date: 2026-03-14\n"
    assert document_date("n/2026-01-05.md", {}, text=head) == "2026-01-05"
    assert document_date("n/note.md", {"created": "2026-01-05"}, text=head) == "2026-01-05"
    assert document_date("n/note.md", {}, ["Visit of 2026-01-05"], text=head) == "2026-01-05"


def test_a_year_is_a_period() -> None:
    assert age("2026", date(2027, 1, 1)) == 1
    assert heading_day(["4 March"], "2026") is None
    assert heading_day(["4 March 2026"], "2026") == "2026-03-04"


def put(store: HybridStore, doc_id: str, text: str) -> None:
    with store.storage.transaction():
        store.storage.documents.put(store.prepare(Document(doc_id, text, {})), {})


@pytest.mark.both_engines
def test_filters_and_doctor_know_the_dates(store: HybridStore, tmp_path: Path) -> None:
    put(store, "year.md", "---\ndate: 2026\n---\nfridge")
    put(store, "week/2026-W11.md", "The fridge hums.")
    put(store, "adr/0003.md", "# Queue\n\nDate: 2026-03-14\n\nA fridge.")
    put(store, "03-04-2026.md", "My fridge.")
    put(store, "plain.md", "fridge")

    def since(day: str, until: str) -> set[str]:
        filters = Filters(since=day, until=until)
        return {hit["doc_id"] for hit in store.search("fridge", filters=filters)}

    assert since("2026-03-10", "2026-03-14") == {"adr/0003.md", "year.md"}
    assert since("2026-03-09", "2026-03-09") == {"week/2026-W11.md", "year.md"}
    assert since("2025-01-01", "2025-12-31") == set()
    lines = [finding.text for finding in examine(store) if finding.check == "dates"]
    assert lines == [
        "1 of 2 notes without a date looks dated: 03-04-2026.md; write the date as 2026-01-05"
    ]
