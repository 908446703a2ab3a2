"""Tasks on a vault as people keep it: tests/vault has daily notes, people, projects, maps, templates, clippings and an attachment."""

import os
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.documents.front_matter import front_matter
from hybrid_memory.text.links import aliases
from tests.command import NO_SERVER, Run, answer, in_process, in_terminal

VAULT = Path(__file__).parent / "vault"


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("vault")
    (folder / "config.json").write_text('{"provider": "builtin"}')
    return {
        "PATH": os.environ["PATH"],
        "HYBRID_MEMORY_CONFIG": str(folder / "config.json"),
        "HYBRID_MEMORY_DB_PATH": str(folder / "memory.db"),
        "HYBRID_MEMORY_OLLAMA_URL": NO_SERVER,
    }


@pytest.fixture(scope="module")
def run(environ: dict[str, str]) -> Run:
    def run(*args: str) -> Any:
        return in_process(args, environ, VAULT)

    assert answer(run("ingest", "--path", str(VAULT)))["files"] == 59
    return run


def first(run: Run, *args: str) -> str:
    found = answer(run("search", *args))
    return found[0]["doc_id"].removeprefix("vault/") if found else ""


def listed(run: Run, *args: str) -> list[str]:
    documents = answer(run("list", *args))["documents"]
    return sorted(Path(document["doc_id"]).stem for document in documents)


def test_an_exact_alias_finds_its_note_first(run: Run) -> None:
    """At least 95 %, however the alias is written."""
    wanted = [
        (alias, str(path.relative_to(VAULT)))
        for path in sorted(VAULT.rglob("*.md"))
        for alias in aliases(front_matter(path.read_text("utf-8")).metadata)
    ]
    written = [
        (query, name) for alias, name in wanted for query in (alias, alias.lower(), f"[[{alias}]]")
    ]
    missed = [query for query, name in written if first(run, query) != name]
    assert len(wanted) > 40
    assert len(missed) <= 0.05 * len(written), missed
    assert [
        alias
        for alias, name in wanted
        if answer(run("get", alias, "--json"))["doc_id"] != f"vault/{name}"
    ] == []


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Forecasts decay", "zettel/202601061412 Forecasts decay.md"),  # a title
        ("Knowing by doing", "zettel/202602021900 Knowing by doing.md"),  # a heading
        ("tide tables, explained", "clippings/Tide tables explained.md"),
        ("[[decisions/Keep plain files]]", "decisions/Keep plain files.md"),
        ("surge model comparison", "projects/tidewater/Surge model comparison.md"),
        ("boiler pressure F.22", "areas/Boiler.md"),
        ("when does the sailmaker open", "places/Sailmaker.md"),
        ("who files the value added tax", "areas/Invoicing.md"),
        ("met Ilse through Tomas", "people/Ilse Brandt.md"),
        (
            '"Related: Seeing Like a State, Pattern"',
            "books/The Timeless Way of Building.md",
        ),  # a phrase across links
        ('"discussed with Tom R."', "areas/How to price a project.md"),
        ("水位計で測る", "clippings/日本の潮汐.md"),  # a word across a link
    ],
)
def test_questions(run: Run, query: str, name: str, mode: str) -> None:
    assert first(run, query, "--mode", mode) == name


def test_links_of_a_project(run: Run) -> None:
    found = answer(run("links", "tide-app"))
    assert [(link["line"], link["doc_id"]) for link in found["links"]] == [
        (5, "vault/people/Ilse Brandt.md"),
        (5, "vault/people/Tomas Reyes.md"),
        (24, "vault/projects/tidewater/Surge model comparison.md"),
        (29, "vault/decisions/2025-10-14 Use the harbour gauge.md"),
        (29, "vault/decisions/2026-01-12 Second phase.md"),
    ]
    places = {link["citation"] for link in found["linked_from"]}
    assert {"vault/people/Ilse Brandt.md#L4-L4", "vault/journal/2026/2026-01-05.md#L9-L9"} <= places


def test_links_that_lead_nowhere(run: Run) -> None:
    found = answer(run("links", "--broken"))
    assert {(link["target"], Path(link["doc_id"]).name) for link in found["broken"]} == {
        ("A Field Guide to Lies", "Reading list.md"),
        ("Hanne Lund", "Old Mill Bakery.md"),
        ("2026-02-12", "2026-W06.md"),
    }
    assert found["total"] == 3


def test_two_notes_of_a_name_are_told_apart_by_what_links_to_them(run: Run) -> None:
    def sources(target: str) -> list[str]:
        return [Path(link["doc_id"]).stem for link in answer(run("links", target))["linked_from"]]

    assert sources("kestrel/Meeting") == ["2026-02-03"]
    assert sources("tidewater meetings") == ["2026-01-08"]
    done = run("get", "meeting")
    assert (
        done.returncode,
        "projects/kestrel/Meeting.md, vault/projects/tidewater/Meeting.md" in done.stderr,
    ) == (1, True)


def test_an_attachment_is_not_a_broken_link(run: Run) -> None:
    [plan] = [
        link for link in answer(run("links", "house"))["links"] if "floor-plan" in link["target"]
    ]
    assert (plan["kind"], plan["doc_id"], plan["broken"]) == ("embed", None, False)


def test_tags(run: Run) -> None:
    counts = {tag["tag"]: tag["documents"] for tag in answer(run("tags"))["tags"]}
    assert (
        counts["client"] == 6
        and counts["house/heating"] == counts["house"] == 4
        and counts["海"] == counts["気象/潮位"] == 1
    )
    assert (
        not {"notatag", "nottag", "todo", "tag", "springs", "install", "nothing", "007"}
        & counts.keys()
    )
    for tag, count in counts.items():
        assert len(listed(run, "--tag", tag)) == count


def test_filters(run: Run) -> None:
    assert listed(run, "--tag", "House") == ["2026-02-05", "Boiler", "Inbox", "Radiators"]
    assert listed(run, "--where", "people=steph") == []
    assert (
        listed(run, "--where", "people=Ilse Brandt")
        == listed(run, "--where", "people=tomas reyes")
        == ["Tidewater"]
    )
    assert (
        listed(run, "--where", "people=[[Hanne Lund]]")
        == listed(run, "--where", "people=hanne lund")
        == ["Old Mill Bakery"]
    )
    assert listed(run, "--where", "org=tidewater", "--tag", "person") == ["Ilse Brandt"]
    assert listed(run, "--linked-to", "tante may") == [
        "2025-12-19",
        "Lübeck",
        "Passwords",
        "People",
        "Plum cake",
    ]
    assert first(run, "who pays", "--linked-to", "[[Tidewater]]") == "journal/2026/2026-02-05.md"


def test_dates(run: Run) -> None:
    told = {
        "2026-01-05": ("2026-01-05", "path"),
        "keep plain files": ("2024-05-06", "created"),
        "surge model comparison": ("2025-10-02", "created"),
        "invoicing": ("2025-02-01", "created_at"),
        "boiler": ("2025-11-30", "modified"),
        "how to price a project": ("2025-06-17", "published"),
        "2026-W06": ("2026-02-02", "path"),
        "meeting template": (None, None),
    }
    for target, expected in told.items():
        found = answer(run("get", target, "--json"))
        assert (found["date"], found["date_from"]) == expected
    assert "Surge model comparison" in listed(run, "--since", "2025-10-01", "--until", "2025-10-31")


def test_parts_of_notes(run: Run) -> None:
    assert answer(run("get", "[[Boiler#^refill]]", "--json"))["text"].startswith(
        "To refill: blue tap"
    )
    assert answer(run("get", "billing#taxes", "--json"))["text"].startswith(
        "## Taxes\n\nValue added tax"
    )
    assert answer(run("get", "projects/tidewater/meeting#2026-02-05", "--json"))["start_line"] == 10
    assert (
        "its headings: Tidewater, Scope, Open questions, Decisions"
        in run("get", "TW#Budget").stderr
    )


def test_on_a_terminal(run: Run, environ: dict[str, str]) -> None:
    shown = in_terminal(environ, "links", "Bergen").replace("\r", "")
    assert shown.splitlines()[:2] == [
        "vault/places/Bergen.md links to",
        "      7  vault/people/Tomas Reyes.md",
    ]
    assert "is linked from\n  vault/Inbox.md#L12-L12\n" in shown
    assert in_terminal(environ, "links", "--broken").startswith(
        "vault/Reading list.md#L9-L9  A Field Guide to Lies"
    )
    assert "\n 4  house/heating\r\n" in in_terminal(environ, "tags")
    assert "(a file)" in in_terminal(environ, "links", "house")


@pytest.mark.parametrize("words", [["links"], ["links", "atlas", "--broken"]])
def test_links_takes_a_target_or_asks_for_the_broken_ones(run: Run, words: list[str]) -> None:
    done = run(*words)
    assert (done.returncode, "give either TARGET or --broken" in done.stderr) == (2, True)


def test_the_target_of_a_filter_must_be_there(run: Run) -> None:
    done = run("search", "cake", "--linked-to", "Nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no document 'Nobody'" in done.stderr
