"""A damaged row: one line with the way out, and a copy of everything else."""

import sqlite3
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.errors import StoreError
from hybrid_memory.extras.copy import copy

DAMAGES = {
    "metadata that are no JSON": "update documents set metadata = '{' where doc_id = 'b'",
    "text that is not UTF-8": "update chunks set content = cast(x'c3286770' as text) where doc_id = 'b'",
    "a table that is gone": "drop table links",
    "a column that is gone": "alter table documents rename column date to day",
}
READS = {
    "search": lambda store: store.search("gpu"),
    "list": lambda store: store.storage.catalog.listing(None, 10),
    "get": lambda store: store.storage.documents.whole("b"),
    "links": lambda store: store.storage.links.links_of("b"),
}


@pytest.fixture
def filled(db_path: str) -> str:
    with HybridStore(db_path, {"provider": "builtin"}) as store:
        for doc_id in "abc":
            store.store(doc_id, f"The gpu server {doc_id} is loud.", {"owner": "ann"})
    return db_path


@pytest.mark.parametrize("damage", DAMAGES)
def test_reading_a_damaged_row_is_one_line_with_the_way_out(filled: str, damage: str) -> None:
    with sqlite3.connect(filled) as conn:
        conn.execute(DAMAGES[damage])
    conn.close()
    lines = []
    with HybridStore(filled, {"provider": "builtin"}, create=False) as store:
        for read in READS.values():
            try:
                with store.storage.guarded():
                    read(store)
            except StoreError as error:
                lines.append(str(error))
    assert lines, "the damage is never read"
    for line in lines:
        assert line.startswith(f"{filled} is damaged: ")
        assert "`hybrid-memory copy OLD NEW` copies what can be read" in line
        assert "\n" not in line


def test_a_bug_keeps_its_traceback(filled: str) -> None:
    with HybridStore(filled) as store, pytest.raises(AttributeError), store.storage.guarded():
        store.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_a_copy_leaves_out_what_cannot_be_read(filled: str, tmp_path: Path) -> None:
    with sqlite3.connect(filled) as conn:
        conn.execute(DAMAGES["metadata that are no JSON"])
    conn.close()
    with (
        HybridStore(filled, {"provider": "none"}, create=False) as source,
        HybridStore(tmp_path / "new.db", {"provider": "none"}) as target,
    ):
        found = copy(source, target)
        assert (found["documents"], found["written"]) == (2, 2)
        [warning] = found["warnings"]
        assert warning.startswith("b is left out: ")
        assert sorted(target.storage.catalog.ids()) == ["a", "c"]
