from collections.abc import Iterator

import pytest

from hybrid_memory import HybridStore, QueryError
from hybrid_memory.browse.passage import read
from hybrid_memory.storage.targets import Location, split_target

PLAN = """\
---
aliases: [The Plan, "A/B"]
created: 2026-01-05
---
# Plan of *2026*

intro

## Next: [[steps|Steps]]!

one
two ^b1

- item ^b2

```
## not a heading
```

### Deeper

## Other

a table
of two lines

^b3

# End
"""


@pytest.fixture
def vault() -> Iterator[HybridStore]:
    with HybridStore(":memory:", {"provider": "none"}) as store:
        store.store("v/jobs/Plan.md", PLAN)
        store.store("v/old/2026-02-02 plan.md", "# Plan of last year\n\nold")
        for doc_id in ("v/a/Same.md", "v/b/same.md", "v/c/SAME.md"):
            store.store(doc_id, "# Same")
        yield store


@pytest.mark.parametrize(
    "target",
    [
        "plan",
        "PLAN.md",
        "jobs/plan",
        "[[Plan]]",
        "![[jobs/Plan|shown]]",
        "the plan",
        "a/b",
        "plan of 2026",
        "[[The Plan]]",
    ],
)
def test_a_document_goes_by_many_names(vault: HybridStore, target: str) -> None:
    found = read(vault, target)
    assert (found["doc_id"], found["start_line"], found["date"], found["date_from"]) == (
        "v/jobs/Plan.md", 1, "2026-01-05", "created",
    )  # fmt: skip


def test_case_tells_apart_what_differs_by_case_only(vault: HybridStore) -> None:
    assert read(vault, "Same")["doc_id"] == "v/a/Same.md"
    with pytest.raises(
        QueryError, match="'sAME' is ambiguous: v/a/Same.md, v/b/same.md, v/c/SAME.md. Use"
    ):
        read(vault, "sAME")


def test_what_dates_a_document_is_told(vault: HybridStore) -> None:
    vault.store("titled", "# 5 January 2026")
    assert [
        read(vault, target)["date_from"] for target in ("2026-02-02 plan", "titled", "Same")
    ] == ["path", "title", "stored"]


@pytest.mark.parametrize(
    ("part", "lines"),
    [
        ("#Plan of 2026", (5, 28)),
        ("#next: steps!", (9, 21)),
        ("#next-steps", (9, 21)),
        ("#Plan of 2026#Other", (22, 28)),
        ("#deeper", (20, 21)),
        ("#End", (29, 29)),
        ("#^b1", (11, 12)),
        ("#^B2", (14, 14)),
        ("#^b3", (24, 25)),
        ("#L9-L11", (9, 11)),
    ],
)
def test_a_part_of_a_document(vault: HybridStore, part: str, lines: tuple[int, int]) -> None:
    found = read(vault, f"plan{part}")
    assert (found["start_line"], found["end_line"]) == lines
    assert read(vault, f"[[the plan{part}]]")["text"] == found["text"]


def test_lines_without_a_name_are_a_place() -> None:
    assert [split_target(f"any#L{text}")[1] for text in ("12-30", "12", "12C501-30")] == [
        Location(12, 1, 30),
        Location(12, 1, 12),
        Location(12, 501, 30),
    ]


def test_a_part_that_is_not_there_is_named_with_those_that_are(vault: HybridStore) -> None:
    with pytest.raises(
        QueryError,
        match="v/jobs/Plan.md has no heading 'not a heading'; its headings: Plan of .*, Deeper, Other, End",
    ):
        read(vault, "plan#not a heading")
