"""What is read again after the program or its settings have changed, and what it is called."""

from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.documents import document
from hybrid_memory.documents.document import OTHER_SETTINGS, OTHER_VERSION, why_cut_again
from hybrid_memory.extras.doctor import examine
from hybrid_memory.extras.why.explain import explain
from hybrid_memory.sync.ingest import Ingest


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        ("10.15:512:50", None),
        ("10.14:512:50", OTHER_VERSION),
        ("11.0:512:50", None),
        ("10.15:400:50", OTHER_SETTINGS),
        ("10:512:50", OTHER_VERSION),
    ],
)
def test_only_what_an_older_version_or_other_settings_cut_is_cut_again(
    known: str, reason: str | None
) -> None:
    assert why_cut_again(known, "10.15:512:50") == reason


@pytest.mark.parametrize("part", ["CHUNKER", "CONTEXT"])
@pytest.mark.parametrize("change", [1, -1])
@pytest.mark.both_engines
def test_a_newer_version_reads_files_again_and_an_older_one_leaves_them(
    db_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, change: int
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nThe boiler holds two bar.\n")
    (folder / "s.jsonl").write_text(
        '{"type": "user", "message": {"role": "user", "content": "The boiler is cold."}}\n'
    )
    with HybridStore(db_path, {"provider": "none"}) as store:
        Ingest(store, patterns=["*.md", "*.jsonl"]).run([str(folder)])
        store.store("text", "The kettle is blue.")
        monkeypatch.setattr(document, part, getattr(document, part) + change)
        found = [finding.text for finding in examine(store) if finding.ok is False]
        reasons = [explain(store, name)["reason"] or "" for name in ("notes/a.md", "text")]
        report = Ingest(store, incremental=True, everything=True).update()
        again = Ingest(store, incremental=True, everything=True).update()
    told = [*(line for line in found if "cut" in line), *report.notes]
    assert again.files == 0
    assert not again.notes
    if change < 0:
        assert (report.files, told) == (0, [])
        assert not any(OTHER_VERSION in reason for reason in reasons)
    else:
        assert report.files == 2
        assert all(OTHER_VERSION in line for line in [*told, *reasons])
        assert len(told) >= 4
