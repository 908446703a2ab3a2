"""Searches, documents and the state of the memory over HTTP: the command line's answers, and when they need not be sent."""

import os
import time
from contextlib import closing
from datetime import date
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.search.result import match
from tests.command import Run, answer
from tests.extras.serving import Client


def test_a_search_gives_what_the_store_gives(client: Client, environ: dict[str, str]) -> None:
    with HybridStore(environ["HYBRID_MEMORY_DB_PATH"], {"provider": "builtin"}) as store:
        expected = store.search("GPU server password", limit=3)
    found = client.json("/api/search", q="GPU server password", limit=3)
    assert found["results"] == expected
    assert found["warnings"] == []
    assert found["hint"] is found["nearest_miss"] is None
    assert found["timings"]["total"] > 0


@pytest.mark.parametrize(
    ("query", "first", "words"),
    [
        (
            "password servers",
            "# Access\n\nThe servers' Passwords; one server_a, no passwörter.",
            ["servers", "Passwords", "server"],
        ),
        ("東京", "# 東京\n\n東京都の天気です。", ["東京"]),
        ("résumé", "My resume, and a Résumé.", ["resume", "Résumé"]),
    ],
)
def test_marks_are_the_words_that_match_as_they_are_written(
    client: Client, query: str, first: str, words: list[str]
) -> None:
    client.put("/api/documents/marked", json={"text": first})
    parameters = {"q": query, "in": "marked", "mode": "keyword"}
    assert client.json("/api/search", marks="true", **parameters)["results"][0]["marks"] == words
    assert "marks" not in client.json("/api/search", **parameters)["results"][0]


EXCERPTS = {
    "A bandicoot with `.` and (`.obsidian`).": "A bandicoot with . and (.obsidian).",
    "> [!tip]- Bandicoot box\n> *Slowly*, _now_.": "Bandicoot box\nSlowly, now.",
    "The bandicoot ==runs== at a_b. ^run": "The bandicoot runs at a_b.",
    "A bandicoot digs `by\nnight` and *by\nday*.": "A bandicoot digs by night and by day.",
    "![[bandicoot.png|100]] Bandicoot %%never%% seen.": "Bandicoot seen.",
    "- a [[box/of|bandicoot]]\n- [ ] feed [it](http://a.b)\n- [x] done": (
        "• a bandicoot\n☐ feed it\n☑ done"
    ),
    "| who | eats |\n|---|---|\n| bandicoot | ants |": "who · eats\nbandicoot · ants",
}


def test_an_excerpt_has_no_signs_of_markdown(client: Client) -> None:
    for text, shown in EXCERPTS.items():
        client.put("/api/documents/excerpt", json={"text": f"# Animals\n\n{text}"})
        found = client.json("/api/search", q="bandicoot", marks="true", mode="keyword")
        pieces = found["results"][0]["excerpt"]
        assert "".join(pieces) == shown
        assert [piece.lower() for piece in pieces[1::2]] == ["bandicoot"]


def test_a_search_that_finds_nothing_says_what_to_try(reader: Client) -> None:
    assert "other words" in reader.json("/api/search", q="zebra")["hint"]
    answer = reader.json("/api/search", q="zebra", collection="memory")
    assert "under these filters" in answer["hint"]


def test_a_search_for_filters_alone_has_their_documents_for_the_page(reader: Client) -> None:
    answer = reader.json("/api/search", q="tag:ops", marks="true")
    listed = reader.json("/api/documents", tag="ops")
    assert answer["listing"] == listed
    assert listed["total"] > 0
    assert answer["results"] == answer["warnings"] == []
    assert answer["hint"] is None
    assert "no words" in reader.json("/api/search", q="tag:ops")["warnings"][0]


def test_what_the_client_has_is_not_sent_again_until_the_store_changes(client: Client) -> None:
    paths = (
        "/api/search?q=server",
        "/api/documents",
        "/api/overview",
        "/api/documents/memory%2Fpi.md/similar",
        "/api/documents/memory%2Fpi.md/links",
    )
    tags = {path: client.get(path).headers["etag"] for path in paths}
    for path, tag in tags.items():
        again = client.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b""), path
    assert client.put_text("new", "# Server\n\nA server.").status_code == 201
    for path, tag in tags.items():
        changed = client.get(path, headers={"If-None-Match": tag})
        assert changed.status_code == 200, path
        assert changed.headers["etag"] != tag


def test_a_document_is_not_sent_again_until_its_file_changes(client: Client, folder: Path) -> None:
    first = client.get("/api/documents/memory/pi.md")
    assert (
        client.get(
            "/api/documents/memory/pi.md", headers={"If-None-Match": first.headers["etag"]}
        ).status_code
        == 304
    )
    (folder / "pi.md").write_text("# Raspberry Pi\n\nGone.\n")
    changed = client.get(
        "/api/documents/memory/pi.md", headers={"If-None-Match": first.headers["etag"]}
    )
    assert changed.status_code == 200
    assert changed.json()["changed"] is True
    assert "Gone." in changed.json()["text"]


def test_a_document_has_the_lines_asked_for_and_its_passages(reader: Client) -> None:
    found = reader.json("/api/documents/memory/meeting.md", lines="5-7")
    assert found["text"] == "# Meeting\n\nThe server needs a new power supply."
    assert (found["citation"], found["next"], found["next_lines"]) == (
        "memory/meeting.md#L5-L7",
        None,
        None,
    )
    assert found["metadata"] == {"tags": ["ops", "gpu"], "project": "atlas"}
    assert found["is_file"] is True
    assert [
        (each["heading_path"], each["start_line"], each["end_line"]) for each in found["passages"]
    ] == [
        ("Meeting", 5, 7),
        ("Meeting > Costs", 9, 11),
    ]


def test_a_pdf_is_the_text_that_was_extracted_from_it(
    client: Client, run: Run, tmp_path: Path
) -> None:
    pdf = Path(__file__).parents[1] / "files/report.pdf"
    run("ingest", "--path", str(pdf))
    found = client.json("/api/documents/report.pdf", lines="10-13")
    assert found["text"].startswith("## Repairs\n\nThe valve")
    assert (found["citation"], found["page"], found["passages"][0]["heading_path"]) == (
        "report.pdf#L10-L13 (p. 2)", 2, "Report on the boiler",
    )  # fmt: skip
    assert client.json("/api/search", q="circuit seven", limit=1)["results"][0]["page"] == 2


@pytest.mark.parametrize("bound", [{"max_lines": 2}, {"max_chars": 7}])
def test_a_document_is_read_on_where_the_last_answer_ended(
    client: Client, folder: Path, bound: dict[str, int]
) -> None:
    lines, text = "5-11", ""
    while lines:
        found = client.json("/api/documents/memory/meeting.md", lines=lines, **bound)
        text += found["text"] + ("" if "C" in (found["next_lines"] or "") else "\n")
        lines = found["next_lines"]
    assert text == "\n".join((folder / "meeting.md").read_text().splitlines()[4:11]) + "\n"


def test_every_id_can_be_an_address(client: Client) -> None:
    for doc_id in ("a b/ü?#%.md", "x/similar", "a//b", "/absolute"):
        address = quote(doc_id, safe="")
        assert client.put_text(address, f"This is {doc_id}").status_code == 201
        assert client.json(f"/api/documents/{address}")["text"] == f"This is {doc_id}"
        assert client.delete(f"/api/documents/{address}").json()["doc_id"] == doc_id
    # `requests` resolves dot segments itself, encoded or not, so this id goes by another client.
    with closing(HTTPConnection(client.base.removeprefix("http://"), timeout=60)) as connection:
        headers = {"content-type": "application/json"}
        connection.request("PUT", "/api/documents/%2E%2E", b'{"text": "dots"}', headers)
        assert connection.getresponse().status == 201
    assert client.json("/api/documents", **{"in": ".."})["documents"][0]["doc_id"] == ".."


def test_similar_passages_are_near_by_meaning_and_of_other_documents(client: Client) -> None:
    client.put_text("dogs", "# Dogs\n\nThe puppy and the dog.")
    client.put_text("pets", "# Pets\n\nThe dog and the cat.")
    found = client.json("/api/documents/dogs/similar", limit=1)
    assert found["by"] == "vector"
    assert [result["doc_id"] for result in found["results"]] == ["pets"]
    assert 0 < found["results"][0]["score"] <= 1


def test_similar_passages_are_found_by_words_where_there_are_no_embeddings(client: Client) -> None:
    client.put_text("a", "狗和猫在花园里")  # the built-in model knows no Chinese
    client.put_text("b", "猫在花园里睡觉")
    found = client.json("/api/documents/a/similar")
    assert found["by"] == "keyword"
    assert [result["doc_id"] for result in found["results"]] == ["b"]


def test_similar_passages_of_lines_are_those_of_that_passage(client: Client) -> None:
    client.put_text("price", "# Price\n\nIt costs 300 euros.")
    found = client.json("/api/documents/memory/meeting.md/similar", lines="11", limit=1)
    assert found["results"][0]["doc_id"] == "price"
    told = client.get("/api/documents/memory/meeting.md/similar", params={"lines": "1-2"})
    assert (told.status_code, told.json()["detail"]) == (
        422,
        "memory/meeting.md has no passage in the lines 1-2",
    )


def test_links_lead_both_ways(client: Client, run: Run) -> None:
    client.put_text("v%2Fplan", "# Plan\n\nSee [[Pets]], [[Nobody]] and ![[a.png]].")
    client.put_text("v%2Fpets", "---\nalias: Animals\n---\n# Pets")
    found = client.json("/api/documents/v%2Fplan/links")
    assert [(link["target"], link["doc_id"], link["broken"]) for link in found["links"]] == [
        ("Pets", "v/pets", False), ("Nobody", None, True), ("a.png", None, False),
    ]  # fmt: skip
    assert client.json("/api/documents/v%2Fpets/links") == answer(run("links", "animals"))
    assert client.get("/api/documents/nothing/links").status_code == 404


def test_list_status_and_findings_are_those_of_the_commands(client: Client, run: Run) -> None:
    by_command = answer(run("stats"))
    status = client.json("/api/status")
    assert status == {key: by_command[key] for key in status}
    assert client.json("/api/documents", tag="gpu") == answer(run("list", "--tag", "gpu", "--json"))
    assert client.json("/api/documents", limit=1)["total"] == 3
    findings = answer(run("doctor", "--thorough", "--json"))
    assert client.json("/api/doctor", thorough="true") == findings


def test_the_overview_counts_collections_months_and_tags(client: Client) -> None:
    client.put_text("note", "---\ntags: ops\n---\nA note.")
    found = client.json("/api/overview")
    assert found["status"]["doc_count"] == 4
    assert {each["name"]: each["documents"] for each in found["collections"]} == {
        "memory": 3,
        None: 1,
    }
    months = [month["month"] for month in found["months"]]
    assert months == [date.today().isoformat()[:7], "2026-01"]  # it was stored today
    assert found["undated"] == 2
    assert found["tags"] == [{"tag": "ops", "documents": 2}, {"tag": "gpu", "documents": 1}]
    assert {document["doc_id"] for document in found["newest"]} >= {"note", "memory/pi.md"}
    assert (
        found["server"]["watching"]
        is found["server"]["updating"]
        is found["server"]["token"]
        is False
    )


def test_a_database_that_is_replaced_is_read_anew(client: Client, environ: dict[str, str]) -> None:
    db = environ["HYBRID_MEMORY_DB_PATH"]
    assert client.json("/api/search", q="raspberry")["results"]
    with HybridStore(f"{db}.other", {"provider": "builtin"}) as other:
        other.store("zoo", "A raspberry in the zoo.")
    for end in ("-wal", "-shm"):
        Path(db + end).unlink(missing_ok=True)
    os.replace(f"{db}.other", db)
    assert [
        result["doc_id"] for result in client.json("/api/search", q="raspberry")["results"]
    ] == ["zoo"]


def test_a_database_that_is_gone_is_told_and_not_made_anew(
    client: Client, environ: dict[str, str]
) -> None:
    assert client.json("/api/search", q="raspberry")["results"]
    os.remove(environ["HYBRID_MEMORY_DB_PATH"])
    told = client.get("/api/search", params={"q": "raspberry"})
    assert (told.status_code, told.headers["retry-after"]) == (503, "2")
    assert "no database" in told.json()["detail"]
    assert not os.path.exists(environ["HYBRID_MEMORY_DB_PATH"])


def test_a_query_that_is_being_typed_is_mended_and_its_last_word_is_a_beginning(
    reader: Client,
) -> None:
    beginning = reader.json("/api/search", q="the pow", typed="true", mode="keyword", marks="true")
    assert beginning["results"][0]["doc_id"].endswith("meeting.md")
    assert "pow" in beginning["results"][0]["marks"]
    misspelt = reader.json("/api/search", q="suplpy", mode="keyword", marks="true")
    assert misspelt["instead"] == {"suplpy": ["supply"]}
    assert misspelt["results"][0]["marks"] == ["supply"]


def test_a_result_for_people_has_its_match_and_the_title_of_its_note(
    client: Client, folder: Path, run: Run
) -> None:
    (folder / "code.md").write_text("# `wombat --dig`\n\nThe wombat digs.\n")
    (folder / "plain.md").write_text("A numbat has no heading.\n")
    (folder / "quolls-at.md").write_text("# Quolls at night\n\nThe quoll sleeps.\n")
    (folder / "named.md").write_text("---\ntitle: Of bilbies\n---\n# Bilby\n\nThe bilby hops.\n")
    assert run("ingest", "--path", str(folder), "--incremental").returncode == 0
    for query, title in (
        ("wombat", "wombat --dig"),
        ("numbat", None),
        ("bilby", "Of bilbies"),
        ("quoll", "Quolls at night"),
    ):
        found = client.json("/api/search", q=query, marks="true", mode="keyword")["results"][0]
        assert found["title"] == title
        assert found["match"] == match(found["confidence"])
        assert client.json(f"/api/documents/{quote(found['doc_id'])}")["title"] == title


def test_the_answer_has_how_the_query_was_read(reader: Client) -> None:
    query = """tag:ops -tag:old after:nonsense server in:"memory" http://x:1 -"gnu" -x"""
    answer = reader.json("/api/search", q=query)
    assert answer["operators"] == {
        "filters": ["tag:ops", 'in:"memory"'],
        "without": ["-tag:old", '-"gnu"'],
        "words": {"after:nonsense": "'after:nonsense' has no date after the colon"},
    }
    assert all(hit["operators"] == answer["operators"] for hit in answer["results"])
    assert answer["warnings"] == []
    assert "filters" not in answer
    nothing = {"filters": [], "without": [], "words": {}}
    assert reader.json("/api/search", q="server")["operators"] == nothing


def test_the_overview_has_every_folder_and_the_newest_documents(
    client: Client, folder: Path, run: Run
) -> None:
    (folder / "deep/er").mkdir(parents=True)
    for name, days in (("deep/er/old.md", 400), ("deep/new.md", 0)):
        (folder / name).write_text(f"# {name}\n\nA text.\n")
        changed = time.time() - days * 24 * 3600
        os.utime(folder / name, (changed, changed))
    assert run("ingest", "--path", str(folder), "--incremental").returncode == 0
    overview = client.json("/api/overview")
    counts = {row["path"]: row["documents"] for row in overview["folders"]}
    assert counts["memory/deep"] == 2 and counts["memory/deep/er"] == 1
    assert counts["memory"] == overview["collections"][0]["documents"]
    newest = [document["doc_id"] for document in overview["newest"]]
    assert newest.index("memory/deep/new.md") < newest.index("memory/deep/er/old.md")


def test_a_review_has_broken_links_and_copies(client: Client, folder: Path, run: Run) -> None:
    (folder / "one.md").write_text("The same, with a [[link to nothing]].\n")
    (folder / "two.md").write_text("The same, with a [[link to nothing]].\n")
    assert run("ingest", "--path", str(folder), "--incremental").returncode == 0
    for doc_id, text in (("a", "One text."), ("b", "Another text."), ("c", "One text.")):
        assert run("store", "--doc-id", doc_id, "--text", text).returncode == 0
    review = client.json("/api/review")
    assert review["copies"] == {
        "total": 2,
        "documents": [["a", "c"], ["memory/one.md", "memory/two.md"]],
    }
    assert review["broken"]["total"] == 2
    assert [link["doc_id"] for link in review["broken"]["links"]] == [
        "memory/one.md",
        "memory/two.md",
    ]
