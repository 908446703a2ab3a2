"""Declared revisions: what is marked, what is not, and that marks form an order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid_memory import HybridStore
from hybrid_memory.search.revisions import Revision, ends
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.text.declarations import strikes, tasks
from tests.traces import evaluated, step

FILLER = "# Other things\n\nThe ficus was watered. Lunch was late, and nobody complained about the soup.\n"

Notes = Callable[[dict[str, str]], HybridStore]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    def ingested(texts: dict[str, str]) -> HybridStore:
        folder = tmp_path / "notes"
        for name, text in ({"2026-01-02.md": FILLER, "2026-03-09.md": FILLER} | texts).items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        store = HybridStore(str(tmp_path / "memory.db"), {"provider": "none"})
        Ingest(store).run([str(folder)])
        return store

    return ingested


def name(citation: str | None) -> str | None:
    return citation.partition("#")[0].rpartition("/")[2] if citation else None


def places(results: list[dict[str, Any]]) -> list[tuple[str | None, str | None]]:
    """The names of the documents found, each with that of what replaces it."""
    return [(name(result["citation"]), name(result["newer"])) for result in results]


def marks(store: HybridStore, query: str) -> dict[str | None, str | None]:
    return {former: later for former, later in places(store.search(query)) if later}


OLD = "# Hosts\n\nThe ssh port of heron is 22 for everybody. Bring your own key for heron.\n"
NEW = "# Monday\n\nSeun closed the ssh port 22 on heron, it is 2222 now. The scan was silly.\n"


def front(line: str, text: str) -> str:
    return f"---\n{line}\n---\n{text}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("superseded_by: new", ""),
        ("superseded-by: '[[new]]'", ""),
        ("Superseded by: '[[new|the new one]]'", ""),
        ("replaced_by: [new.md]", ""),
        ("status: superseded by new", ""),
        ("status: Superseded by [[new]]", ""),
        ("status: superseded by [ADR-2](new.md)", ""),
        ("superseded_by: '[the new one](./new.md#ports)'", ""),
        ("superseded_by: '[[new#Ports|the new one]]'", ""),
        ("superseded_by: ../notes/new.md", ""),
        ("", "supersedes: old"),
        ("", "supersedes: '[[old]]'"),
        ("", "replaces: [old.md]"),
    ],
)
def test_what_front_matter_declares_is_marked_and_comes_first(
    notes: Notes, old: str, new: str
) -> None:
    texts = {"old.md": front(old, OLD) if old else OLD, "new.md": front(new, NEW) if new else NEW}
    with notes(texts) as store:
        found = places(store.search("ssh port 22 heron everybody key"))
    assert found[:2] == [("new.md", None), ("old.md", "new.md")]


@pytest.mark.parametrize(
    "line",
    [
        "supersedes: nobody",
        "superseded_by: old",  # itself
        "superseded_by: ''",
        "superseded_by: same",  # ambiguous: two documents have this name
        "status: superseded",
        "replaceable: new",
        "note: superseded by new",
    ],
)
def test_what_declares_no_successor_gives_no_mark(notes: Notes, line: str) -> None:
    texts = {"old.md": front(line, OLD), "new.md": NEW, "a/same.md": FILLER, "b/same.md": FILLER}
    with notes(texts) as store:
        assert marks(store, "ssh port of heron") == {}


def test_a_declared_successor_is_named_even_if_the_search_does_not_find_it(notes: Notes) -> None:
    with notes(
        {"old.md": front("superseded_by: boats", OLD), "boats.md": "# Boats\n\nA dory.\n"}
    ) as store:
        assert marks(store, "ssh port of heron") == {"old.md": "boats.md"}
        assert [
            result["newer"] for result in store.search("ssh port of heron", collection="notes")
        ] == [None]


def test_a_chain_of_declarations_is_followed_to_its_end(notes: Notes) -> None:
    with notes(
        {
            "one.md": front("superseded_by: two", OLD),
            "two.md": front("superseded_by: three", OLD.replace("22", "222")),
            "three.md": NEW,
        }
    ) as store:
        found = places(store.search("ssh port of heron"))
    assert dict(found)["one.md"] == dict(found)["two.md"] == "three.md"
    assert found[0] == ("three.md", None)


def test_documents_that_supersede_each_other_are_not_marked(notes: Notes) -> None:
    with notes(
        {"one.md": front("superseded_by: two", OLD), "two.md": front("superseded_by: one", NEW)}
    ) as store:
        assert marks(store, "ssh port of heron") == {}


@pytest.mark.parametrize(
    ("former", "later"),
    [
        ("The ssh port of heron is 22.", "The ssh port of heron is ~~22~~ 2222."),
        ("- ssh port of heron: 22", "- ssh port of heron: ~~22~~ 2222"),
        ("- ssh port of heron: 22 (all)", "- ssh port of heron: ~~22~~ 2222 (all)"),
        ("* Port of heron, by ssh: 10.0.0.7", "* Port of heron, by ssh: ~~10.0.0.7~~ 10.0.0.9"),
        ("- Heron: ssh port 22", "- Heron: ~~ssh port 22~~ ssh port 2222"),
        ("Port 22 is the ssh port of heron.", "~~Port 22~~ Port 2222 is the ssh port of heron."),
        ("The ssh port of heron is 22.", "- ~~The ssh port of heron is 22.~~ It is 2222."),
        ("The ssh [port](a.md) of heron: 22", "The ssh [port](b.md) of heron: ~~22~~ 2222"),
        ("- 14:02 ssh port of heron: 22", "- 09:10 ~~ssh port of heron: 22~~ 2222 now"),
        ("Done. The ssh port of heron is 22.", "~~Done. The ssh port of heron is 22.~~ 2222"),
        ("The ssh port of heron is 22.", "Done. ~~The ssh port of heron is 22.~~ It is 2222. Ok."),
    ],
)
def test_a_line_that_another_note_strikes_through_is_marked(
    notes: Notes, former: str, later: str
) -> None:
    with notes({"a.md": f"# Hosts\n\n{former}\n", "b.md": f"# Changes\n\n{later}\n"}) as store:
        assert marks(store, "ssh port of heron") == {"a.md": "b.md"}


@pytest.mark.parametrize(
    ("former", "later"),
    [
        ("The ssh port of heron is 23.", "The ssh port of heron is ~~22~~ 2222."),  # another value
        ("The ssh port of heron is 22.", "The ssh port of heron is ~~22~~"),  # no replacement
        (
            "The ssh port of heron is 22 (all).",
            "The ssh port of heron is ~~22~~ (all).",
        ),  # taken out
        ("The ssh port of heron is 22 to 29.", "The ssh port of heron is ~~22~~ 2222."),
        ("The ssh port of heron is ~~22~~ 2222.", "The ssh port of heron is ~~22~~ 2222, ok."),
        ("The ssh port of heron is 22", "~~The ssh port of heron is 22~~ (moved to the wiki)"),
        ("The ssh port of heron is 22", "**~~The ssh port of heron is 22~~** (moved to the wiki)"),
        ("The ssh port of heron is 22", "~~The ssh port of heron is 22~~ #57893"),
        (
            "The ssh port of heron is 22",
            "- [~~The ssh port of heron is 22~~](https://a.example/22)",
        ),
        ("The ssh port of heron is 22", "[~~The ssh port of heron is 22~~](a.md) **#57893**"),
        (
            "- The ssh port [of heron](https://a.example/22) is 22, [#7](https://a.example/7)",
            "- The ssh port [of heron](https://a.example/22) is 22, [~~#7~~](https://a.example/7)",
        ),
        ("22", "~~22~~ 2222 is the ssh port of heron"),  # a line of one word stands anywhere
        (
            "The ssh port of heron is 2222.",
            "The ssh port of heron is ~~22~~ 2222.",
        ),  # the same value
    ],
)
def test_a_line_that_is_not_the_struck_one_is_not_marked(
    notes: Notes, former: str, later: str
) -> None:
    with notes({"a.md": f"# heron\n\n{former}\n", "b.md": f"# heron\n\n{later}\n"}) as store:
        assert marks(store, "ssh port of heron") == {}


def test_nothing_is_marked_inside_one_section(notes: Notes) -> None:
    padding = "The scan of all the hosts took a long time and found nothing of interest. " * 6
    text = f"# Hosts\n\nThe ssh port of heron is 22.\n\n{padding}\n\nThe ssh port of heron is ~~22~~ 2222.\n"
    with notes({"a.md": text}) as store:
        assert len(store.search("ssh port of heron")) > 1
        assert marks(store, "ssh port of heron") == {}


def test_a_later_note_is_not_revised_by_an_earlier_strike(notes: Notes) -> None:
    texts = {
        "2026-02-01.md": "# Hosts\n\nThe ssh port of heron is ~~22~~ 2222.\n",
        "2026-02-09.md": "# Hosts\n\nThe ssh port of heron is 22.\n",
    }
    with notes(texts) as store:
        assert marks(store, "ssh port of heron") == {}


@pytest.mark.parametrize(
    ("former", "later"),
    [
        ("- [ ] Renew the lease", "- [x] Renew the lease"),
        ("- [ ] Renew the lease", "- [X] renew the **lease** ✅ 2026-02-09"),
        ("* [ ] Renew the lease ^task1", "1. [-] Renew the lease"),
        ("> - [/] Renew the lease", "- [x] Renew the lease"),
    ],
)
def test_an_open_task_is_replaced_by_the_note_in_which_it_is_closed(
    notes: Notes, former: str, later: str
) -> None:
    texts = {"2026-02-01.md": f"# Day\n\n{former}\n", "2026-02-09.md": f"# Day\n\n{later}\n"}
    with notes(texts) as store:
        found = places(store.search("renew lease"))
    assert found[:2] == [("2026-02-09.md", None), ("2026-02-01.md", "2026-02-09.md")]


def test_a_line_that_the_query_does_not_ask_for_gives_no_mark(notes: Notes) -> None:
    texts = {
        "2026-02-01.md": "# Day\n\n- [ ] Renew the lease\n- [ ] Ask Birgit about slots\n- Port of heron: 22\n",
        "2026-02-09.md": "# Day\n\n- [x] Renew the lease\n- Port of heron: ~~22~~ 2222\n",
    }
    with notes(texts) as store:
        assert marks(store, "when did we ask Birgit for slots?") == {}
        assert marks(store, "is the lease renewed?") == {"2026-02-01.md": "2026-02-09.md"}
        assert marks(store, "port of heron") == {"2026-02-01.md": "2026-02-09.md"}


OPEN = "# Day\n\n- [ ] Renew the lease\n"
DONE = "# Day\n\n- [x] Renew the lease\n"


@pytest.mark.parametrize(
    "texts",
    [
        {"2026-02-01.md": DONE, "2026-02-09.md": OPEN},  # open again
        {"2026-02-01.md": DONE, "2026-02-09.md": DONE},
        {"2026-02-01.md": OPEN, "2026-02-09.md": OPEN},
        {"a.md": OPEN, "b.md": DONE},  # no dates
        {"2026-02-01.md": OPEN, "2026-03-09-plan.md": DONE},  # not of one journal
        {"2026-02-01.md": OPEN, "2026-03-01.md": DONE},  # four weeks later
        {"2026-02-01.md": OPEN.replace("[ ]", "[f]"), "2026-02-02.md": DONE},
        {"2026-02-01.md": OPEN, "b.md": DONE},
        {"2026-02-01.md": OPEN, "2026-02-02.md": DONE, "2026-02-03.md": DONE},  # a habit
        {"2026-02-01.md": OPEN, "2026-02-02.md": DONE, "2026-02-03.md": OPEN},
        {"2026-02-01.md": OPEN, "2026-02-09.md": "# Day\n\n- [x] Renew the lease of the boat\n"},
        {"2026-02-01.md": "# Day\n\n- [ ] lease\n", "2026-02-09.md": "# Day\n\n- [x] lease\n"},
    ],
)
def test_tasks_that_are_not_closed_later_and_once_are_not_marked(
    notes: Notes, texts: dict[str, str]
) -> None:
    with notes(texts) as store:
        assert marks(store, "renew lease") == {}


def test_likeness_alone_is_never_a_revision(notes: Notes) -> None:
    texts = {
        "2026-01-08.md": OLD,
        "2026-02-13.md": NEW,
        "heron.md": OLD.replace("22", "2022"),
        "2026-03-01.md": OLD.replace("22", "2220"),
    }
    with notes(texts) as store:
        for query in ("which ssh port does heron have?", "ssh port heron now", "heron"):
            assert marks(store, query) == {}


def test_a_passage_ages_no_more_than_what_it_replaces(notes: Notes) -> None:
    texts = {
        "2025-11-02.md": front("supersedes: 2026-02-13", OLD),
        "2026-02-13.md": NEW,
    }
    with notes(texts) as store:
        results = store.search("ssh port of heron", half_life=10, explain=True)
    scores = [result["score"] for result in results]
    assert places(results)[:2] == [("2025-11-02.md", None), ("2026-02-13.md", "2025-11-02.md")]
    assert scores == sorted(scores, reverse=True)


def test_the_parts_of_a_raised_score_add_up(notes: Notes) -> None:
    texts = {"old.md": front("superseded_by: new", OLD), "new.md": NEW}
    with notes(texts) as store:
        first = store.search("ssh port everybody bring your own key", explain=True)[0]
    assert step(first, "succession")["add"] > 0
    assert evaluated(first) == pytest.approx(first["score"], abs=1e-5)


def test_marks_are_the_same_with_every_limit(notes: Notes) -> None:
    texts = {"old.md": front("superseded_by: new", OLD), "new.md": NEW}
    with notes(texts) as store:
        first = places(store.search("ssh port of heron", 1))
        assert places(store.search("ssh port of heron", 20))[:1] == first


def test_an_excerpt_or_a_joined_passage_with_both_versions_has_no_mark(notes: Notes) -> None:
    text = "# Hosts\n\n## Before\n\nThe ssh port of heron is 22.\n\n## After\n\nThe ssh port of heron is ~~22~~ 2222.\n"
    with notes({"a.md": text}) as store:
        assert set(marks(store, "ssh port of heron")) == {"a.md"}
        [joined, *_] = store.search("ssh port of heron", budget=4000)
    assert "22." in joined["text"]
    assert "2222" in joined["text"]
    assert joined["newer"] is None


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7))))
def test_marks_form_an_order(revisions: list[Revision]) -> None:
    latest = ends(revisions)
    for former, last in latest.items():
        assert former != last
        assert last not in latest  # the end of its chain
    formers = {former for former, _ in revisions}
    assert latest.keys() <= formers


@pytest.mark.parametrize(
    "text",
    ["no strike here", "~~~\ncode\n~~~", "a b ~~c~~", "~~a b c~~ ...", "~~a~~ (b)", "[~~a~~](b)"],
)
def test_text_without_a_struck_part_and_its_replacement_declares_nothing(text: str) -> None:
    assert list(strikes(text)) == []


def test_tasks_are_compared_without_stamps_and_marks() -> None:
    text = "- [ ] Renew the *lease* 📅 2026-03-01 ✅ 2026-03-08\n* [-] Buy milk ^b1\n- [ ]\n- [link](x)\n"
    assert list(tasks(text)) == [("renew the lease", False), ("buy milk", True)]
