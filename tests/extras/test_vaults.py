"""Vaults of Logseq and org-roam: their outlines, properties, names and links."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.browse.passage import read
from hybrid_memory.extras.formats.logseq import day_of, properties, without_properties, written
from hybrid_memory.sync.ingest import Ingest

Notes = Callable[[dict[str, str]], Path]
GRAPH = {
    "logseq/config.edn": '{:meta/version 1\n ;; :journal/page-title-format "yyyy"\n}',
    "logseq/bak/pages/Boat/2025-11-02T10_00_00.Desktop.md": "- the crane of a year ago\n",
    "journals/2026_03_14.md": "- Met [[Ruiz]] at [[harbour/Boatyard]] #[[multi word]] #simple\n"
    "  collapsed:: true\n  id:: 66012345-aaaa-bbbb-cccc-1234567890ab\n  :LOGBOOK:\n"
    "  CLOCK: [2026-03-14 Sat 10:00:00]\n  :END:\n\t- child about a walrus\n",
    "pages/Harbour___Boatyard.md": "alias:: [[yard]], the sheds\ntags:: Craft, [[Old boats]]\n"
    "status:: active\n\n- # The boatyard\n\t- ## Slipway\n\t  id:: 65003f77\n"
    "\t\t- Rail two carries nine tonnes.\n\t- ## Prices\n"
    "\t\t- | Craft | Summer |\n\t\t  |---|---|\n\t\t  | dinghy | 12 |\n"
    "- The office is open on weekdays.\n",
    "pages/Who lifts%3F.md": "title:: Who lifts the boat?\n\n- Ines does. [[yard]] [[Mar 14th, 2026]]"
    " [[The Sheds]]\n  author:: [[Ruiz]]\n- [[Who lifts?]] [[missing]]\n",
    "pages/Ruiz.md": "- Repairs the boiler.\n",
}


@pytest.fixture
def graph(store: HybridStore, notes: Notes) -> HybridStore:
    assert not Ingest(store).run([str(notes(GRAPH))]).errors
    return store


def paths(store: HybridStore) -> dict[str, str]:
    with closing(sqlite3.connect(store.path)) as conn:
        return dict(conn.execute("select content, heading_path from chunks"))


def test_links_lead_to_pages_by_name_alias_and_day(graph: HybridStore) -> None:
    broken = {link.target for link in graph.storage.links.broken()}
    assert broken == {"Old boats", "missing"}
    assert read(graph, "[[Harbour/Boatyard]]")["doc_id"] == "memory/pages/Harbour___Boatyard.md"
    assert read(graph, "Mar 14th, 2026")["doc_id"] == "memory/journals/2026_03_14.md"


def test_headings_end_at_a_bullet_that_is_indented_less(graph: HybridStore) -> None:
    found = {path: content for content, path in paths(graph).items()}
    top = "Harbour/Boatyard > The boatyard"
    assert found[f"{top} > Slipway"].endswith("Rail two carries nine tonnes.")
    assert found[f"{top} > Prices"].endswith("| dinghy | 12 |")
    assert found[top] == "- The office is open on weekdays."
    part = read(graph, "Harbour/Boatyard#The boatyard")
    assert (part["start_line"], part["end_line"]) == (5, 13)


def test_properties_are_metadata_and_not_text(graph: HybridStore) -> None:
    text = "\n".join(paths(graph))
    assert "::" not in text and "CLOCK" not in text and "LOGBOOK" not in text
    result, *_ = graph.search("open weekdays", where={"status": ["active"]}, tags=["old boats"])
    assert result["citation"] == "memory/pages/Harbour___Boatyard.md#L13-L13"
    tags = {tag for tag, _ in graph.storage.links.tags()}
    assert {"craft", "old boats", "multi word", "simple"} <= tags
    assert properties("- a\n  author:: b\n  author:: c\n- alias:: d\n") == {"author": ["b", "c"]}


UUID = "66012345-aaaa-bbbb-cccc-1234567890ab"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"- ## (({UUID}))", ""),
        (f"  (({UUID})) (({UUID}))", ""),
        (f"- {{{{embed (({UUID}))}}}}", ""),
        ("- {{query (and [[boats]] (task TODO))}}", ""),
        ("- [:span]", ""),
        (f"- Note that (({UUID})), she said", "- Note that …, she said"),
        (f"- See [the crane]((({UUID})))", "- See the crane"),
        ("- {{cloze oil}}", "- {{cloze oil}}"),
        ("- f((x)) and a ((note))", "- f((x)) and a ((note))"),
    ],
)
def test_references_to_blocks_and_queries_are_not_text(line: str, text: str) -> None:
    assert without_properties(f"\n- before\n{line}\n- after") == f"\n- before\n{text}\n- after"


def test_backups_are_left_out(graph: HybridStore) -> None:
    assert not any("/bak/" in doc_id for doc_id in graph.storage.documents.of_collection("memory"))


def test_a_table_in_a_bullet_ends_at_the_next_bullet(store: HybridStore, notes: Notes) -> None:
    items = "".join(f"- item {number} {'word ' * 40}\n" for number in range(6))
    folder = notes({"a.md": f"- | Craft | Summer |\n  |---|---|\n  | dinghy | 12 |\n{items}"})
    Ingest(store).run([str(folder)])
    assert sum("Craft" in content for content in paths(store)) == 1


@pytest.mark.parametrize(
    ("day", "pattern", "text"),
    [
        (1, "MMM do, yyyy", "Mar 1st, 2026"),
        (3, "do", "3rd"),
        (13, "do", "13th"),
        (1, "EEEE, dd/MM/yy", "Sunday, 01/03/26"),
        (1, "MMMM d, yyyy EEE", "March 1, 2026 Sun"),
        (1, "yyyy'年'M'月'", "2026年3月"),
    ],
)
def test_days_are_written_in_the_format_of_the_graph(day: int, pattern: str, text: str) -> None:
    assert written(date(2026, 3, day), pattern) == text


@pytest.mark.parametrize(
    ("name", "pattern", "day"),
    [
        ("2026_03_14", "yyyy_MM_dd", date(2026, 3, 14)),
        ("14-03-2026", "dd-MM-yyyy", date(2026, 3, 14)),
        ("2026_03_14 x", "yyyy_MM_dd", None),
        ("2026_13_14", "yyyy_MM_dd", None),
        ("2026", "yyyy", None),
    ],
)
def test_the_day_of_a_journal(name: str, pattern: str, day: date | None) -> None:
    assert day_of(name, pattern) == day


def test_links_of_org_roam_lead_to_the_note_with_the_id(store: HybridStore, notes: Notes) -> None:
    folder = notes(
        {
            "nlp.org": ':PROPERTIES:\n:ID: 4a81-Ab\n:ROAM_ALIASES: NLP "natural language"\n:END:\n#+title: Language\n'
            "* Words\n:PROPERTIES:\n:ID: word-1\n:END:\ntext\n",
            "a.org": "See [[id:4a81-Ab][NLP]] and [[id:word-1][words]].\n[[file:nlp.org::*Words][file]] [[id:none][x]]\n"
            "[[https://example.org/a][web]] [[*Words]]\n#+begin_src\n[[id:code]]\n#+end_src\n",
        }
    )
    Ingest(store, patterns=["*.org"]).run([str(folder)])
    found = {
        (link.line, link.target): link.doc_id
        for link in store.storage.links.links_of("memory/a.org")
    }
    assert found == {
        (1, "id:4a81-Ab"): "memory/nlp.org",
        (1, "id:word-1"): "memory/nlp.org",
        (2, "nlp.org"): "memory/nlp.org",
        (2, "id:none"): None,
    }
    assert read(store, "natural language")["doc_id"] == "memory/nlp.org"
