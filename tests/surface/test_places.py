"""Which database is used, and which others are told of: the real command, run from a checkout and from a copy of the package."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from hybrid_memory import paths
from tests.command import answer, in_process, in_terminal

ROOT = Path(__file__).parents[2]
Call = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def call(home: Path, tmp_path: Path) -> Call:
    """Run the command of the package in a folder, for a user with this home."""

    def run(package: Path, *args: str, **environ: str) -> subprocess.CompletedProcess[str]:
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "PYTHONPATH": str(package),
            **environ,
        }
        # -S: not the checkout of these tests, which the environment notes, and where somebody may have a database
        command = [sys.executable, "-S", "-P", "-m", "hybrid_memory", *args, "--provider", "none"]
        return subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60
        )

    return run


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "hybrid_memory", tmp_path / "checkout/hybrid_memory")
    shutil.copy(ROOT / "pyproject.toml", tmp_path / "checkout")
    return tmp_path / "checkout"


@pytest.fixture
def copy(tmp_path: Path, checkout: Path) -> Path:
    """The package as a wheel puts it, with the note that installers leave of where it came from (PEP 610)."""
    shutil.copytree(checkout / "hybrid_memory", tmp_path / "copy/hybrid_memory")
    note = tmp_path / "copy/hybrid_memory_search-0.1.0.dist-info"
    note.mkdir()
    (note / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hybrid-memory-search\nVersion: 0.1.0\n"
    )
    (note / "direct_url.json").write_text(json.dumps({"url": checkout.as_uri(), "dir_info": {}}))
    return tmp_path / "copy"


def fill(call: Call, package: Path, *args: str, **environ: str) -> None:
    done = call(package, "store", "--doc-id", "a", "--text", "gpu", *args, **environ)
    assert done.returncode == 0, done.stderr


def place(call: Call, package: Path, *args: str, **environ: str) -> tuple[str, str, list[str]]:
    stats: dict[str, Any] = json.loads(call(package, "stats", *args, **environ).stdout)
    return stats["db_path"], stats["db_path_from"], stats["other_stores"]


def test_a_missing_database_is_told_with_its_origin(
    call: Call, checkout: Path, copy: Path, home: Path, tmp_path: Path
) -> None:
    default = checkout / "data/hybrid_search.db"
    way_out = "`hybrid-memory ingest --path DIR` makes one"
    assert (
        call(checkout, "stats").stderr
        == f"hybrid-memory: no database at {default}; {way_out}; this path is the default\n"
    )
    (checkout / "config.json").write_text('{"db_path": "x.db"}')
    for args, environ, path, origin in [
        ((), {}, checkout / "x.db", str(checkout / "config.json")),
        ((), {"HYBRID_MEMORY_DB_PATH": "/v/x.db"}, "/v/x.db", "HYBRID_MEMORY_DB_PATH"),
        (("--db", "/o/x.db"), {"HYBRID_MEMORY_DB_PATH": "/v/x.db"}, "/o/x.db", "--db"),
    ]:
        done = call(checkout, "search", "gpu", *args, **environ)
        assert (
            done.stderr
            == f"hybrid-memory: no database at {path}; {way_out}; this path is from {origin}\n"
        )
        assert done.returncode == 1


def test_checkout_and_copy_tell_of_each_other(
    call: Call, checkout: Path, copy: Path, home: Path
) -> None:
    of_checkout, of_user = (
        checkout / "data/hybrid_search.db",
        home / ".local/share/hybrid-memory/hybrid_search.db",
    )
    fill(call, checkout)
    assert place(call, checkout) == (str(of_checkout), "default", [])
    fill(call, copy)
    assert place(call, checkout) == (str(of_checkout), "default", [str(of_user)])
    assert place(call, copy) == (str(of_user), "default", [str(of_checkout)])
    assert place(call, copy, "--db", str(of_checkout)) == (str(of_checkout), "--db", [str(of_user)])


def test_databases_that_configurations_and_variables_name_are_told(
    call: Call, checkout: Path, home: Path, tmp_path: Path
) -> None:
    fill(call, checkout)
    default = str(checkout / "data/hybrid_search.db")
    named = {
        name: tmp_path / f"{name}.db" for name in ("user", "variable", "variable_file", "missing")
    }
    for name in ("user", "variable", "variable_file"):
        with closing(sqlite3.connect(named[name])) as other:
            other.execute("create table x (y)")
    (home / ".config/hybrid-memory").mkdir(parents=True)
    (home / ".config/hybrid-memory/config.json").write_text(
        json.dumps({"db_path": str(named["user"])})
    )
    (tmp_path / "c.json").write_text('{"db_path": "variable_file.db"}')
    environ = {
        "HYBRID_MEMORY_DB_PATH": str(named["variable"]),
        "HYBRID_MEMORY_CONFIG": str(tmp_path / "c.json"),
    }
    path, origin, others = place(call, checkout, "--db", default, **environ)
    assert (path, origin) == (default, "--db")
    assert sorted(others) == sorted(
        str(named[name]) for name in ("user", "variable", "variable_file")
    )
    (home / ".config/hybrid-memory/config.json").write_text("not json")
    assert place(call, checkout, **{**environ, "HYBRID_MEMORY_DB_PATH": default})[2] == [
        str(named["variable_file"])
    ]


@pytest.fixture
def at_home(home: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment of an installed program of which no setting names a memory."""
    monkeypatch.setattr(paths, "in_checkout", lambda: False)
    monkeypatch.setattr(paths, "checkouts", list)
    kept = {key: value for key, value in environ.items() if not key.startswith("XDG_")}
    del kept["HYBRID_MEMORY_DB_PATH"]
    return kept | {"HOME": str(home), "HYBRID_MEMORY_PROVIDER": "builtin"}


def test_stats_lists_all_memories_of_the_user(at_home: dict[str, str], home: Path) -> None:
    for name in ("notes", "vault"):
        (home / name).mkdir()
        (home / name / f"{name}.md").write_text("# Food\n\nPizza on Friday.\n")
        answer(in_process(("init", str(home / name), "--yes"), at_home, home))
    folder = home / ".local/share/hybrid-memory"
    notes, vault = str(folder / "hybrid_search.db"), str(folder / "vault.db")
    (folder / "broken.db").write_text("no database")
    elsewhere = ("--doc-id", "a", "--text", "gpu", "--db", "elsewhere.db")
    answer(in_process(("store", *elsewhere), at_home, home))
    found = answer(in_process(("stats", "--all"), at_home, home))
    assert [(memory["db_path"], memory["doc_count"], memory["folders"]) for memory in found] == [
        (notes, 1, [str(home / "notes")]),
        (vault, 1, [str(home / "vault")]),
        (str(folder / "broken.db"), None, []),
    ]
    assert all(memory["db_size_bytes"] and memory["updated"] for memory in found)
    assert [bool(memory["problem"]) for memory in found] == [False, False, True]
    other = answer(in_process(("stats", "--all", "--db", vault), at_home, home))
    assert [memory["db_path"] for memory in other[:2]] == [vault, notes]


def test_a_search_with_faint_matches_names_the_memory_that_is_surest(
    at_home: dict[str, str], home: Path
) -> None:
    for name, text in (
        ("notes", "# Food\n\nPizza on Friday.\n"),
        ("attic", "# Attic\n\nJonas can restore a deleted file.\n"),
        ("vault", "# Restore\n\nTo restore a deleted note open File recovery.\n"),
    ):
        (home / name).mkdir()
        (home / name / f"{name}.md").write_text(text)
        assert in_process(("init", str(home / name), "--yes"), at_home, home).returncode == 0
    default = home / ".local/share/hybrid-memory/hybrid_search.db"
    question = "how do I restore a deleted note"

    def told(query: str, *options: str, name: str = "vault") -> bool:
        # A terminal breaks a long path anywhere
        seen = "".join(in_terminal(at_home, "search", query, *options).split())
        assert (f"{name}.dbsearch`searchesit" in seen) == ("hasasurerpassage" in seen)
        assert seen.count("hasasurerpassage") <= 1
        return f"{name}.dbhasasurerpassage" in seen and "Filerecovery" not in seen

    assert told(question)
    assert told(question, "--min-confidence", "0.9")
    assert not told("pizza on Friday")  # the answer is here
    assert not told("tax returns of whales")  # nowhere
    assert not told(question, "--quiet")
    assert not told(question, "--db", str(default))  # chosen
    assert not told(question, "--json")  # an agent's
    piped = in_process(("search", question), at_home, home)
    assert "vault.db" not in piped.stdout + piped.stderr
    (default.parent / "vault.db").unlink()
    assert told(question, name="attic")
