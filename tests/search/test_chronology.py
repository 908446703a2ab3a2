"""The day of a passage, which of equal ones is shown, their order in time, and what is in force."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import date, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.search.result import MOST_ALSO
from hybrid_memory.surface.quotes import markdown
from hybrid_memory.sync.ingest import Ingest
from tests.traces import evaluated

Notes = Callable[..., HybridStore]
DAYS = ("2025-03-04", "2025-08-12", "2026-01-15", "2026-04-21", "2026-08-03")
TOPICS = ("Acme meeting", "dentist visit", "car service")


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Notes]:
    """Ingest notes; `changed` has the days on which files changed."""

    def ingested(texts: Mapping[str, str], changed: Mapping[str, str] | None = None) -> HybridStore:
        folder = tmp_path / "notes"
        for name, text in texts.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            if changed and name in changed:
                moment = datetime.fromisoformat(f"{changed[name]}T12:00:00Z").timestamp()
                os.utime(file, (moment, moment))
        settings = {"provider": "builtin"}
        store = opened.enter_context(HybridStore(str(tmp_path / "memory.db"), settings))
        Ingest(store).run([str(folder)])
        store.embed()
        return store

    with ExitStack() as opened:
        yield ingested


def names(results: list[dict[str, Any]]) -> list[str]:
    return [result["doc_id"].removeprefix("notes/").removesuffix(".md") for result in results]


def as_markdown(results: list[dict[str, Any]]) -> list[str]:
    paper = StringIO()
    markdown(results, "", paper)
    return [line for line in paper.getvalue().splitlines() if line.startswith("**")]


def daily() -> dict[str, str]:
    return {
        f"{day}.md": f"# {day}\n\n"
        + "".join(f"## {topic}\n\nNotes of the {topic}: part {number}.\n\n" for topic in TOPICS)
        for number, day in enumerate(DAYS)
    }


# --- the day of a passage


def test_a_passage_without_a_date_has_the_day_of_its_file(notes: Notes) -> None:
    texts = {"pump.md": "The pump is blue.\n", "2026-01-05.md": "The pump leaks.\n"}
    store = notes(texts, {"pump.md": "2026-10-14"})
    undated, dated = sorted(store.search("pump"), key=lambda hit: hit["date"] or "")
    assert (undated["date"], undated["modified"]) == (None, "2026-10-14T12:00:00Z")
    assert dated["date"] == "2026-01-05"
    [line] = as_markdown([undated])
    assert ", file of 2026-10-14, " in line
    [line] = as_markdown([dated])
    assert "file of" not in line


@pytest.mark.parametrize(
    ("changed", "first"), [("2025-12-31", "2026-10-15"), ("2026-11-01", "MEMORY")]
)
def test_a_half_life_ages_an_undated_note_by_its_file(
    notes: Notes, changed: str, first: str
) -> None:
    texts = {
        "MEMORY.md": "- The liability insurance runs until 31 December.\n",
        "2026-10-15.md": "The liability insurance runs until 28 February.\n",
    }
    store = notes(texts, {"MEMORY.md": changed})
    asked = "until when does the liability insurance run"
    found = store.search(asked, half_life=30, today=date(2026, 11, 14))
    assert names(found)[0] == first


# --- equal passages


@pytest.mark.parametrize("prefix", ["", "memory/", "log/a-"])
def test_the_newest_of_equal_passages_is_shown_and_the_others_are_named(
    notes: Notes, prefix: str
) -> None:
    texts = {
        f"{prefix}{day}.md": f"# Log\n\n- The VPN host is {host}.example.org.\n"
        for day, host in (("2024-01-10", "alpha"), ("2025-02-11", "beta"), ("2026-09-12", "alpha"))
    }
    found = notes(texts).search("what is the VPN host", explain=True)
    assert sorted(names(found)) == [f"{prefix}2025-02-11", f"{prefix}2026-09-12"]
    newest = next(hit for hit in found if "alpha" in hit["text"])
    assert newest["also"] == [f"notes/{prefix}2024-01-10.md#L1-L3"]
    assert newest["also_dates"] == ["2024-01-10"]
    assert any("also on 2024-01-10" in line for line in as_markdown(found))
    for hit in found:
        assert evaluated(hit) == pytest.approx(hit["score"], abs=1e-5)


def test_a_task_that_is_open_again_is_shown_as_it_is_now(notes: Notes) -> None:
    texts = {
        f"2026-01-0{day}.md": f"- [{mark}] call Ruiz\n" for day, mark in enumerate(" x ", start=1)
    }
    found = notes(texts).search("call Ruiz")
    assert names(found) == ["2026-01-03", "2026-01-02"]
    assert found[0]["newer"] is None


def test_a_day_that_the_query_names_decides_before_the_newest(notes: Notes) -> None:
    texts = {f"{day}.md": "The boiler was serviced.\n" for day in DAYS}
    store = notes(texts)
    assert names(store.search("boiler serviced")) == [DAYS[-1]]
    assert names(store.search(f"boiler serviced {DAYS[1]}")) == [DAYS[1]]
    assert names(store.search("when was the boiler first serviced?")) == [DAYS[0]]


def test_a_passage_whose_name_the_query_has_stands_for_the_same_text_elsewhere(
    notes: Notes,
) -> None:
    texts = {
        f"{name}.md": "The door code is 5512.\n"
        for name in ("heron/2025-01-01", "bittern/2026-01-01")
    }
    store = notes(texts)
    for asked, day in (("heron", "2025-01-01"), ("bittern", "2026-01-01"), ("5512", "2026-01-01")):
        assert store.search(f"door code {asked}")[0]["date"] == day


def test_many_places_of_a_text_are_counted(notes: Notes) -> None:
    texts = {f"2026-01-{day:02}.md": "Watered the ficus.\n" for day in range(1, 11)}
    [line] = as_markdown(notes(texts).search("ficus"))
    assert "also on 2026-01-09, on 2026-01-08, on 2026-01-07, and 6 more" in line
    assert line.count(" on 2026") == MOST_ALSO


# --- words of order


@pytest.mark.parametrize(
    ("asked", "day"),
    [
        ("latest {}", DAYS[-1]),
        ("when was the last {}?", DAYS[-1]),
        ("most recent {}", DAYS[-1]),
        ("current {}", DAYS[-1]),
        ("first {}", DAYS[0]),
        ("oldest {}", DAYS[0]),
        ("letzter {}", DAYS[-1]),
        ("último {}", DAYS[-1]),
    ],
)
def test_a_word_of_order_puts_equally_good_passages_in_the_order_of_their_days(
    notes: Notes, asked: str, day: str
) -> None:
    store = notes(daily())
    for topic in TOPICS:
        found = store.search(asked.format(topic), explain=True)
        assert names(found)[0] == day, topic
        assert topic in found[0]["text"]
        scores = [hit["score"] for hit in found]
        assert scores == sorted(scores, reverse=True)
        for hit in found:
            assert evaluated(hit) == pytest.approx(hit["score"], abs=1e-5)


def test_a_much_better_passage_stays_first(notes: Notes) -> None:
    texts = {"2025-01-01.md": "The heron meeting was about ports.\n", "2026-01-01.md": "Soup.\n"}
    assert names(notes(texts).search("latest heron meeting"))[0] == "2025-01-01"


def test_in_quotes_it_is_a_word(notes: Notes) -> None:
    texts = {
        "2025-01-01.md": "The latest release is out.\n",
        "2026-01-01.md": "The release is out.\n",
    }
    store = notes(texts)
    assert names(store.search('"latest" release', mode="keyword"))[0] == "2025-01-01"
    assert names(store.search("latest release", mode="keyword"))[0] == "2026-01-01"


def test_sort_by_date_orders_the_results_that_scores_have_chosen(notes: Notes) -> None:
    store = notes(daily() | {"pump.md": "The dentist.\n"}, {"pump.md": "2025-10-01"})
    by_score = store.search("dentist visit", 4)
    by_date = store.search("dentist visit", 4, sort="date")
    assert {hit["citation"] for hit in by_score} == {hit["citation"] for hit in by_date}
    days = [hit["date"] or hit["modified"][:10] for hit in by_date]
    assert days == sorted(days, reverse=True)


# --- in force


def port(value: str) -> str:
    return f"# Hosts\n\nThe ssh port of heron is {value}.\n"


@pytest.mark.parametrize(
    "texts",
    [
        {"2026-01-05.md": port("22"), "2026-03-09.md": port("~~22~~ 2222")},
        {"old.md": f"---\nsuperseded_by: new\n---\n{port('22')}", "new.md": port("2222")},
        {"old.md": port("22"), "new.md": f"---\nsupersedes: old\n---\n{port('2222')}"},
        {
            "2026-03-08.md": "- [ ] open the ssh port\n",
            "2026-03-09.md": "- [x] open the ssh port\n",
        },
    ],
)
def test_in_force_leaves_out_what_is_superseded_and_counts_it(
    notes: Notes, texts: dict[str, str]
) -> None:
    store = notes(texts)
    _, later = texts
    both = store.search("ssh port")
    kept = store.search("ssh port", in_force=True)
    assert len(both) == 2
    assert names(kept) == [later.removesuffix(".md")]
    assert names(store.search("the first ssh port", in_force=True, limit=2)) != names(kept)


def test_the_answer_counts_what_is_left_out_and_cites_what_is_in_force(notes: Notes) -> None:
    texts = {"old.md": f"---\nsuperseded_by: new\n---\n{port('22')}", "new.md": "Ask Jonas.\n"}
    store = notes(texts)
    request = {"in_force": True, "mode": "keyword"}
    from hybrid_memory.search.request import request_of

    answer = store.answer("ssh port of heron", request_of(request, store.config))
    assert answer.results == []
    assert answer.superseded_by == ["notes/new.md#L1-L1"]
    assert answer.more == "1 superseded passage left out (in_force), in force: notes/new.md#L1-L1"
    assert store.answer("ssh port", request_of({}, store.config)).superseded_by == []


def test_a_passage_that_says_more_about_the_question_stays(notes: Notes) -> None:
    texts = {
        "2026-01-05.md": "The ssh port of heron is 22.\nThe ssh keys of heron are with Ann.\n",
        "2026-03-09.md": "The ssh port of heron is ~~22~~ 2222.\n",
    }
    store = notes(texts)
    assert "2026-01-05" in names(store.search("who has the ssh keys", in_force=True))
    assert names(store.search("port number", in_force=True)) == ["2026-03-09"]
