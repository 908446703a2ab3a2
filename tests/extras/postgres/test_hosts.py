"""Two hosts with one memory, as two users, because files belong to a user and a host."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory.extras.postgres.database import here
from tests.command import Run

pytestmark = pytest.mark.large

Host = Callable[..., Any]


@pytest.fixture
def hosts(run: Run, postgres_path: str, tmp_path: Path) -> dict[str, tuple[Path, Host]]:
    """For each user, a folder named memory, and the command, which returns its answer and its other
    output.
    """

    def host(name: str) -> tuple[Path, Host]:
        folder = tmp_path / name / "memory"
        folder.mkdir(parents=True)
        (folder / "pi.md").write_text(f"# Raspberry Pi\n\nThe Pi of {name} is under the desk.\n")

        def of_user(*args: str) -> tuple[Any, str]:
            here.cache_clear()
            where = ("--db", postgres_path, "--provider", "builtin")
            done = run(*where, *args, env={"LOGNAME": name})
            here.cache_clear()
            return (json.loads(done.stdout) if done.stdout else None), done.stderr

        return folder, of_user

    return {name: host(name) for name in ("ann", "bob")}


def test_folders_of_the_same_name_are_two_collections(hosts: dict[str, tuple[Path, Host]]) -> None:
    (of_ann, ann), (of_bob, bob) = hosts["ann"], hosts["bob"]
    assert ann("ingest", "--path", str(of_ann))[0]["files"] == 1
    assert bob("ingest", "--path", str(of_bob))[0]["files"] == 1
    [mine, his] = ann("list")[0]["documents"]
    assert (mine["doc_id"], mine["path"], "host" in mine) == (
        "memory/pi.md",
        str(of_ann / "pi.md"),
        False,
    )
    assert (his["doc_id"], his["path"]) == (f"memory@{his['host']}/pi.md", None)
    assert his["host"].startswith("bob@")

    (of_bob / "pi.md").write_text("# Raspberry Pi\n\nThe Pi of bob is in the attic.\n")
    for again in (("ingest", "--path", str(of_bob), "--incremental"), ("update",)):
        (of_bob / "new.md").write_text(again[0])
        answer = bob(*again)[0]
        assert (answer["removed"], answer["errors"]) == (0, [])
    [hit, *_] = ann("search", "bob attic", "--full")[0]
    assert (hit["doc_id"], hit["path"]) == (his["doc_id"], None)
    answer, told = ann("get", hit["citation"])
    assert "attic" in answer["text"]
    assert f"is a file of {his['host']}; this is its indexed text" in told
    reason = ann("why", his["doc_id"])[0]
    assert (reason["host"], reason["current"]) == (his["host"], True)

    assert ann("update")[0]["skipped"] == 1
    (of_bob / "pi.md").unlink()
    assert bob("update")[0]["removed"] == 1
    assert [document["doc_id"] for document in bob("list")[0]["documents"]] == [
        "memory/pi.md",
        f"memory@{his['host']}/new.md",
    ]
    assert ann("get", "memory/pi.md")[0]["path"] == str(of_ann / "pi.md")


def test_a_name_that_is_free_again_is_not_taken_by_who_has_one(
    hosts: dict[str, tuple[Path, Host]],
) -> None:
    (of_ann, ann), (of_bob, bob) = hosts["ann"], hosts["bob"]
    ann("ingest", "--path", str(of_ann))
    bob("ingest", "--path", str(of_bob))
    assert ann("delete", "--collection", "memory")[0]["documents_deleted"] == 1
    assert bob("ingest", "--path", str(of_bob), "--incremental")[0]["skipped"] == 1
    assert ann("ingest", "--path", str(of_ann))[0]["files"] == 1
    assert sorted(
        document["doc_id"].partition("@")[0] for document in ann("list")[0]["documents"]
    ) == ["memory", "memory/pi.md"]
