"""Which documents a review lists as no longer valid."""

from collections.abc import Callable
from pathlib import Path

from hybrid_memory import HybridStore
from hybrid_memory.extras.serve.overview import superseded
from hybrid_memory.sync.ingest import Ingest


def test_what_metadata_or_the_note_itself_call_superseded(
    store: HybridStore, notes: Callable[..., Path]
) -> None:
    files: dict[str, str | bytes] = {
        "1.md": "---\nstatus: superseded\n---\nWe use MySQL.\n",
        "2.md": "---\nsuperseded_by: '[[3]]'\n---\nWe use SQLite.\n",
        "3.md": "---\nsupersedes: [4]\nstatus: accepted\n---\nWe use PostgreSQL.\n",
        "4.md": "We use files.\n",
        "5.md": "# Use a queue\n\n## Status\n\nSuperseded by ADR 6\n",
        "6.md": "The old plan was superseded by this one. Status is fine.\n",
    }
    Ingest(store).run([str(notes(files))])
    assert dict(superseded(store.storage)) == {
        "memory/1.md": "its status is 'superseded'",
        "memory/2.md": "its metadata name a successor: 3",
        "memory/4.md": "memory/3.md supersedes it",
        "memory/5.md#L1-L5": "its text says so",
    }
