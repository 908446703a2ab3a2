"""Day first or month first: decided for a folder by its unambiguous dates."""

from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest

ADR = "# Decision {}\n\nDate: {}\n\nWe keep the {}.\n"


def dates(store: HybridStore) -> dict[str, str | None]:
    _, documents = store.storage.catalog.listing(None, 100)
    return {each["doc_id"].partition("/")[2]: each["date"] for each in documents}


def ingest(store: HybridStore, folder: Path) -> int:
    """Ingest what changed; return how many documents were written."""
    return Ingest(store, incremental=True).run([str(folder)]).files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for sub in ("adr", "us", "mixed", "alone"):
        (tmp_path / "n" / sub).mkdir(parents=True)
    return tmp_path / "n"


@pytest.mark.both_engines
def test_the_dates_of_a_folder_are_read_in_one_order(store: HybridStore, folder: Path) -> None:
    for sub, known in (("adr", "27/03/2019"), ("us", "03/27/2019"), ("alone", "2019-03-27")):
        (folder / sub / "1.md").write_text(ADR.format(1, "05/03/2019", "queue"))
        (folder / sub / "2.md").write_text(ADR.format(2, known, "cache"))
        (folder / sub / "08 07 2026.md").write_text("The boiler was serviced.")
        (folder / sub / "field.md").write_text("---\ndate: 04/05/2020\n---\nThe fence.")
    for number, known in enumerate(("27/03/2019", "03/27/2019", "05/03/2019"), 1):
        (folder / "mixed" / f"{number}.md").write_text(ADR.format(number, known, "queue"))
    ingest(store, folder)
    assert dates(store) == {
        "adr/1.md": "2019-03-05",
        "adr/2.md": "2019-03-27",
        "adr/08 07 2026.md": "2026-07-08",
        "adr/field.md": "2020-05-04",
        "us/1.md": "2019-05-03",
        "us/2.md": "2019-03-27",
        "us/08 07 2026.md": "2026-08-07",
        "us/field.md": "2020-04-05",
        "alone/1.md": None,
        "alone/2.md": "2019-03-27",
        "alone/08 07 2026.md": None,
        "alone/field.md": None,
        "mixed/1.md": "2019-03-27",
        "mixed/2.md": "2019-03-27",
        "mixed/3.md": None,
    }
    assert ingest(store, folder) == 0


@pytest.mark.both_engines
def test_a_changed_order_reads_the_files_concerned_again(store: HybridStore, folder: Path) -> None:
    adr = folder / "adr"
    for number in range(1, 5):
        (adr / f"{number}.md").write_text(ADR.format(number, f"0{number}/03/2019", "queue"))
    (adr / "plain.md").write_text("No date here.")
    ingest(store, folder)
    assert dates(store)["adr/1.md"] is None
    assert dates(store)["adr/3.md"] == "2019-03-03"  # the same in both orders
    (adr / "new.md").write_text(ADR.format(9, "27/03/2019", "cache"))
    assert ingest(store, folder) == 4  # the new one, and three that were in either order
    assert dates(store)["adr/1.md"] == "2019-03-01"
    assert ingest(store, folder) == 0
    (adr / "later.md").write_text(ADR.format(10, "05/03/2019", "cache"))
    assert ingest(store, folder) == 1
    assert dates(store)["adr/later.md"] == "2019-03-05"
    (adr / "new.md").write_text(ADR.format(9, "03/27/2019", "cache"))
    assert ingest(store, folder) == 5
    assert dates(store)["adr/1.md"] == "2019-01-03"
    (adr / "new.md").unlink()
    ingest(store, folder)
    assert dates(store)["adr/1.md"] is None
    assert dates(store)["adr/later.md"] is None


def test_an_incremental_ingest_ends_as_a_new_one(tmp_path: Path, folder: Path) -> None:
    steps = [
        ("a.md", "05/06/2019"),
        ("b.md", "13/06/2019"),
        ("c.md", "06/14/2019"),
        ("b.md", "2019-06-13"),
    ]
    settings = {"provider": "none"}
    with HybridStore(tmp_path / "one.db", settings) as grown:
        for number, (name, day) in enumerate(steps):
            (folder / "adr" / name).write_text(ADR.format(name, day, "queue " * (number + 1)))
            ingest(grown, folder)
            with HybridStore(tmp_path / f"{number}.db", settings) as fresh:
                ingest(fresh, folder)
                assert dates(grown) == dates(fresh), number
