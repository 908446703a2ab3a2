import sys
from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.text.changes import Names, Question, paragraphs, sentences_of, values_of
from hybrid_memory.text.query import Query

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


def places(results: list[dict[str, Any]]) -> list[tuple[str, str | None]]:
    """The names of the documents found, each with that of what revises it."""

    def name(citation: str | None) -> str | None:
        return citation.partition("#")[0].rpartition("/")[2] if citation else None

    return [(name(result["citation"]) or "", name(result["newer"])) for result in results]


OLD = "# Hosts\n\nThe ssh port of heron is 22 for everybody. Bring your own key for heron.\n"
NEW = (
    "# Monday\n\nSeun closed the ssh port 22 on heron, it is 2222 now. The scan noise was silly.\n"
)


def test_a_later_note_with_another_value_revises_and_comes_first(notes: Notes) -> None:
    with notes({"2026-01-08.md": OLD, "2026-02-13.md": NEW}) as store:
        found = places(store.search("which ssh port does heron have?"))
    assert found[:2] == [("2026-02-13.md", None), ("2026-01-08.md", "2026-02-13.md")]


def test_a_question_for_the_past_keeps_the_former_value_first(notes: Notes) -> None:
    with notes({"2026-01-08.md": OLD, "2026-02-13.md": NEW}) as store:
        before = store.search("which ssh port did heron have before?")
    assert dict(places(before))["2026-01-08.md"] == "2026-02-13.md"
    assert places(before)[0][0] == "2026-01-08.md"


def test_the_day_that_a_question_names_wins_over_a_later_one(notes: Notes) -> None:
    with notes({"2026-01-08.md": OLD, "2026-02-13.md": NEW}) as store:
        found = places(store.search("ssh port of heron on 8 January 2026"))
        assert found[:2] == [("2026-01-08.md", "2026-02-13.md"), ("2026-02-13.md", None)]
        assert (
            places(store.search("ssh port of heron on 13 February 2026"))[0][0] == "2026-02-13.md"
        )


def test_an_earlier_note_revises_nothing(notes: Notes) -> None:
    with notes({"2026-02-13.md": OLD, "2026-01-08.md": NEW}) as store:
        found = places(store.search("which ssh port does heron have?"))
    assert dict(found)["2026-02-13.md"] is None


def test_another_host_is_another_fact(notes: Notes) -> None:
    other = NEW.replace("heron", "Kestrel")
    old = OLD.replace("heron", "Wren")
    with notes({"2026-01-08.md": old, "2026-02-13.md": other}) as store:
        found = places(store.search("which ssh port does Wren have?"))
    assert [newer for _, newer in found] == [None] * len(found)


@pytest.mark.parametrize(
    ("old_key", "new_key"),
    [
        ("status: superseded by adr/0011-zarr", "status: accepted"),
        ("superseded-by: '[[0011-zarr]]'", "status: accepted"),
        ("status: old", "supersedes: [0003-format.md]"),
    ],
)
def test_what_metadata_declare_is_believed(notes: Notes, old_key: str, new_key: str) -> None:
    old = f"---\n{old_key}\n---\n\n# Format\n\nImage stacks are stored as TIFF, a file a channel.\n"
    new = f"---\n{new_key}\n---\n\n# Zarr\n\nA store for image stacks, chunked by tile.\n"
    with notes({"adr/0003-format.md": old, "adr/0011-zarr.md": new}) as store:
        found = places(store.search("in which format are image stacks stored?"))
    assert found[:2] == [("0011-zarr.md", None), ("0003-format.md", "0011-zarr.md")]


def test_what_is_said_to_stay_is_not_revised(notes: Notes) -> None:
    old = "# Prices\n\n- Inspection, small: 49 euro\n- Inspection, large: 89 euro\n"
    new = "# Monday\n\nPrices: the large inspection now costs 95 euro, the small one stays.\n"
    with notes({"2026-01-08.md": old, "2026-02-13.md": new}) as store:
        large = store.search("what does the large inspection cost?")
        small = store.search("what does the small inspection cost?")
    assert dict(places(large))["2026-01-08.md"] == "2026-02-13.md"
    assert dict(places(small))["2026-01-08.md"] is None


def test_a_long_turn_of_a_conversation_gets_no_marks(notes: Notes) -> None:
    turn = (
        "Heron and the ssh on it came up again this morning, people from the bakery complained,"
        " somebody wanted a wiki page, the scan was silly and everybody had lunch outside afterwards"
    )
    with notes({"2026-01-08.md": OLD, "2026-02-13.md": NEW}) as store:
        long = places(store.search(turn))
        short = places(store.search("Heron and the ssh on it"))
        asked = places(store.search("which port? " + turn[:125]))
        longer = places(store.search("which port? " + turn))
    assert dict(long)["2026-01-08.md"] is None
    assert dict(short)["2026-01-08.md"] == "2026-02-13.md"
    assert dict(asked)["2026-01-08.md"] == "2026-02-13.md"
    assert dict(longer)["2026-01-08.md"] is None


def test_a_single_word_asks_for_no_fact(notes: Notes) -> None:
    new = NEW.replace("Seun closed the ssh port 22", "Seun closed ssh on port 22")
    with notes({"2026-01-08.md": OLD, "2026-02-13.md": new}) as store:
        assert [newer for _, newer in places(store.search("ssh"))] == [None, None]
        assert dict(places(store.search("ssh heron")))["2026-01-08.md"] == "2026-02-13.md"


def test_a_page_without_a_date_revises_a_dated_note_if_it_has_the_old_value(notes: Notes) -> None:
    note = "# Thursday\n\nThe spare key of the office hangs behind the freezer, hook 27.\n"
    page = "# Office\n\nThe spare key of the office {}, instead it is hook 31 at the porter's.\n"
    for text, newer in (("is no longer on hook 27", "office.md"), ("is no longer here", None)):
        with notes({"2026-01-08.md": note, "office.md": page.format(text)}) as store:
            found = dict(places(store.search("which number is the hook of the office spare key?")))
        assert found["2026-01-08.md"] == newer


def test_letters_tell_things_apart(notes: Notes) -> None:
    old = "# Deposits\n\nThe deposit for flat A is 1,100 pounds, paid in full by the tenant.\n"
    new = "# Deposits\n\nThe deposit for flat {} is 1,300 pounds now, paid in full by the tenant.\n"
    for letter, newer in (("A", "2026-02-13.md"), ("B", None)):
        with notes({"2026-01-08.md": old, "2026-02-13.md": new.format(letter)}) as store:
            found = dict(places(store.search("How much is the deposit for flat A?")))
        assert found["2026-01-08.md"] == newer


def test_what_may_revise_a_result_is_among_the_first_three_without_a_mark(notes: Notes) -> None:
    fillers = {
        f"2026-01-{day}.md": f"# Day {day}\n\nThe backups of host {day} run, as all of them do.\n"
        for day in range(10, 20)
    }
    old = "# Setup\n\n- Backups run with restic, nightly at 02:00\n- Editor: Helix\n"
    new = "# June\n\n- The run takes too long for the router: restic at 04:15\n- Flight booked\n"
    texts = {"2026-01-02.md": old, "2026-02-13.md": new} | fillers
    question = "when do the backups run?"
    with notes(texts) as store:
        found = places(store.search(question))
        past = places(store.search("when did the backups run before?"))
    assert [name for name, _ in found].index("2026-02-13.md") == 2
    assert found[0] == ("2026-01-02.md", None)
    assert "2026-02-13.md" not in [name for name, _ in past[:3]]


def test_undated_pages_that_look_alike_revise_nothing(notes: Notes) -> None:
    with notes({"hosts.md": OLD, "changes.md": NEW}) as store:
        found = places(store.search("which ssh port does heron have?"))
    assert [newer for _, newer in found] == [None] * len(found)


@pytest.mark.parametrize(("name", "revised"), [("ports.md", False), ("2026-01-08.md", True)])
def test_further_down_is_later_in_a_log_and_not_on_a_page_of_reference(
    notes: Notes, name: str, revised: bool
) -> None:
    between = "\n".join(
        f"## Shelf {number}\n\n" + "Boxes of old cables. " * 8 for number in range(4)
    )
    with notes({name: f"{OLD}\n{between}\n{NEW}"}) as store:
        marks = [newer for _, newer in places(store.search("which ssh port does heron have?"))]
    assert (name in marks) is revised


def test_a_copied_sentence_is_no_revision(notes: Notes) -> None:
    with notes({"2026-01-08.md": OLD, "2026-02-13.md": OLD + "\nNothing else today.\n"}) as store:
        found = places(store.search("which ssh port does heron have?"))
    assert [newer for _, newer in found] == [None] * len(found)


def test_a_passage_ages_no_more_than_what_it_revises(notes: Notes) -> None:
    page = "# Hosts\n\nThe ssh port of heron is 22 for everybody. Bring your own key for heron.\n"
    query = "which ssh port does heron have?"
    with notes({"hosts.md": page, "2026-02-13.md": NEW}) as store:
        [usual, _] = store.search(query)
        found = store.search(query, half_life_days=1, today=date(2026, 11, 24), explain=True)
        assert places(found) == [("2026-02-13.md", None), ("hosts.md", "2026-02-13.md")]
        explain = found[0]["explain"]
        assert explain["decay"] == 1.0
        assert explain["score_before_decay"] == pytest.approx(found[0]["score"], abs=1e-6)
        assert found[0]["score"] == pytest.approx(usual["score"], abs=1e-6)


def test_a_dated_note_revises_an_undated_page(notes: Notes) -> None:
    page = "# Hosts\n\nThe ssh port of heron is 22, for everybody.\n"
    note = "# Monday\n\nThe ssh port of heron is 2222.\n"
    with notes({"hosts.md": page, "2026-02-13.md": note}) as store:
        found = places(store.search("which ssh port does heron have?"))
    assert dict(found)["hosts.md"] == "2026-02-13.md"
    assert dict(found)["2026-02-13.md"] is None


def test_marks_can_be_turned_off(notes: Notes, tmp_path: Path) -> None:
    with notes({"2026-01-08.md": OLD * 2, "2026-02-13.md": NEW}) as store:
        marked = places(store.search("ssh port heron everybody bring key"))
    config = {"provider": "none", "successors": False}
    with HybridStore(str(tmp_path / "memory.db"), config) as store:
        unmarked = places(store.search("ssh port heron everybody bring key"))
    assert marked[:2] == [("2026-02-13.md", None), ("2026-01-08.md", "2026-02-13.md")]
    assert unmarked[:2] == [("2026-01-08.md", None), ("2026-02-13.md", None)]


def test_what_is_compared_does_not_grow_with_the_store(notes: Notes) -> None:
    days = {
        f"2026-{month:02}-{day:02}.md": (
            f"# Day {day}\n\nThe ssh port of heron is {month}{day:02}. Bring a key for heron. "
            f"Lunch was at {day}:30. Nobody ate the soup of day {day}.\n"
        )
        for month in range(4, 9)
        for day in range(1, 29)
    }
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.endswith("successors.py"):
            calls[frame.f_code.co_name] += 1

    with notes(days) as store:
        store.search("which ssh port does heron have?")
        sys.setprofile(note)
        store.search("which ssh port does heron have?")
        sys.setprofile(None)
    assert calls["statements"] > 0
    assert calls["signs"] <= 300
    assert calls["_slot"] <= 250


def test_the_parts_of_a_raised_score_add_up(notes: Notes) -> None:
    with notes({"2026-01-08.md": OLD * 2, "2026-02-13.md": NEW}) as store:
        results = store.search("ssh port heron everybody bring key", explain=True)
    why = results[0]["explain"]
    assert results[0]["citation"].startswith("notes/2026-02-13.md")
    assert why["succession"] > 0
    assert results[0]["score"] == results[1]["score"]


def test_a_mark_is_the_same_with_every_limit(notes: Notes) -> None:
    with notes({"2026-01-08.md": OLD, "2026-02-13.md": NEW}) as store:
        few = places(store.search("which ssh port does heron have?", limit=2))
        many = places(store.search("which ssh port does heron have?", limit=50))
    assert few == many[:2]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Sundays from 9 to 2", {"day": {"sunda"}, "number": {"9", "2"}, "bare": {"9", "2"}}),
        ("every day but the 9 rolls", {"day": {"day"}, "number": {"9"}}),
        ("the twelfth is out, the first file too", {"date": {"12"}}),
        ("- [ ] order foil", {"state": {"open"}}),
        ("- [x] order foil", {"state": {"done"}}),
        ("it sells at €5.60 now", {"money": {"5.60"}}),
        ("640 euro, or 1.9% of it", {"money": {"640"}, "percent": {"1.9"}}),
        ("on 12 March at 14:00", {"date": {"12"}, "time": {"14:00"}}),
        ("the 17th, or 2026-03-18", {"date": {"17th", "2026-03-18"}}),
        ("Node 20, Postgres 16.2", {"number": {"20"}, "version": {"16.2"}, "bare": {"20", "16.2"}}),
        ("am 7.4. schon", {"date": {"7.4"}}),
        ("up to 1.2 GB a file", {"number": {"1.2"}}),
        ("see https://a.example/b", {"address": {"https://a.example/b"}}),
        ("nothing here", {}),
        ("fünf Brötchen, täglich", {"number": {"funf"}, "day": {"tagli"}}),
        ("el miércoles", {"day": {"mierc"}}),
        ("le 3 février", {"date": {"3"}}),
    ],
)
def test_values_have_kinds(text: str, values: dict[str, set[str]]) -> None:
    found = values_of(text)
    assert {kind: set(of_kind) for kind, of_kind in found.items()} == values


@pytest.mark.parametrize(
    ("text", "is_past"),
    [
        ("Which port do I use?", False),
        ("What was the old landline number?", True),
        ("Wer war früher Kassenwart?", True),
        ("Who had the export back in January?", True),
        ("What was the port of heron in January?", True),
        ("Was war im Januar der Beitrag?", True),
        ("When is the party in May?", False),
        ("what did we say that Ann may do", False),
        ("what is the current port, not the old one", False),
        ("what did we call the new loaf", False),
        ("which weekday used to be recycling day", True),
        ("which port did we use to ssh into heron", True),
        ("which port do I use to ssh into heron", False),
        ("how long are logs kept before they are thrown away", False),
        ("Which company delivered helium before Cryolux?", True),
        ("keypad code for the back door", False),
        ("how old is Theo now", False),
    ],
)
def test_a_question_says_whether_it_is_for_the_past(text: str, is_past: bool) -> None:
    assert Question(Query(text)).is_past == is_past


def test_names_have_a_capital_inside_a_sentence() -> None:
    text = "we asked Elif about it, and then Theo too. Nobody knew, nobody cared; so Elif rang the school again"
    assert Names([text]).words == {"elif", "theo"}


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("It ends. Then it starts", ["It ends.", "Then it starts"]),
        ("Am 20. Mai geht es los. Gut", ["Am 20. Mai geht es los.", "Gut"]),
        ("Ask Dr. Lam about it", ["Ask Dr. Lam about it"]),
    ],
)
def test_a_full_stop_ends_no_sentence_after_a_day_or_a_title(
    text: str, sentences: list[str]
) -> None:
    assert sentences_of(text) == sentences


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("**Ana** (12:30): go\n**Bo** (12:31): no", [True, True]),
        ("user: go\nassistant: no", [True, True]),
        ("ana: go\nana: now", [True, True]),
        ("- **Butter**: from the co-op\n- **Eggs**: from Lisdoon", [False, False]),
        ("port: 22\nhost: heron", [False, False]),
    ],
)
def test_keys_of_a_list_are_no_speakers(text: str, turns: list[bool]) -> None:
    assert [paragraph.is_turn for paragraph in paragraphs(text)] == turns


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Wie hoch ist der Jahresbeitrag?", {"money", "number", "percent"}),
        ("Abgabetermin der Arbeit", {"date"}),
        ("password of the portal", {"number", "address"}),
        ("colour of the door", set()),
    ],
)
def test_a_question_asks_for_kinds_of_value(text: str, kinds: set[str]) -> None:
    assert Question(Query(text)).kinds == kinds
