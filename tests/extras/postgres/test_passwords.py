"""A password in an address, or in libpq's variables, is in no output."""

import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from tests.command import Run
from tests.extras.serving import served
from tests.extras.test_mcp import Called

pytestmark = pytest.mark.large

DB_PATH = "HYBRID_MEMORY_DB_PATH"
COMMANDS = (
    ("ingest", "--path", "{folder}"),
    ("search", "gpu password", "--explain", "--full"),
    ("search", "--refresh", "gpu"),
    ("search", "--fts-syntax", "("),
    ("get", "memory/pi.md"),
    ("get", "none"),
    ("why", "memory/pi.md", "address"),
    ("list",),
    ("tags",),
    ("links", "memory/pi.md"),
    ("stats",),
    ("doctor", "--thorough"),
    ("config",),
    ("update",),
    ("reindex",),
    ("copy", "--texts", "{address}", "{folder}.out.db"),
    ("copy", "{address}", "{folder}.copy.db"),
    ("copy", "{address}", "{address}"),
    ("delete", "--doc-id", "none"),
    ("search", "gpu", "--space", "none"),
)


@pytest.fixture(params=["user", "query", "environment"])
def with_password(request: pytest.FixtureRequest, postgres_path: str) -> tuple[str, dict[str, str]]:
    """The address of the store with a password in one of several places, and the environment
    variables.
    """
    address = {
        "user": postgres_path.replace("postgres@", "postgres:hunter22@"),
        "query": f"{postgres_path}&password=hunter22&sslpassword=hunter22",
        "environment": postgres_path,
    }[request.param]
    return address, {"PGPASSWORD": "hunter22"} if request.param == "environment" else {}


@pytest.mark.parametrize("is_there", [True, False])
def test_no_command_shows_it(
    with_password: tuple[str, dict[str, str]], run: Run, folder: Path, is_there: bool
) -> None:
    address, variables = with_password
    if not is_there:
        address = address.replace("host=/", "host=/nowhere/")
    for command in COMMANDS if is_there else COMMANDS[::5]:  # which fail where they open it
        words = [word.format(folder=folder, address=address) for word in command]
        done = run("--provider", "builtin", *words, env={**variables, DB_PATH: address})
        assert "hunter22" not in done.stdout + done.stderr, words


def test_neither_mcp_nor_serve_shows_it(postgres_path: str, environ: dict[str, str]) -> None:
    address = f"{postgres_path}&password=hunter22&sslpassword=hunter22"
    environ = {key: value for key, value in environ.items() if key != "PYTHONWARNINGS"}
    environ |= {DB_PATH: address, "HYBRID_MEMORY_PROVIDER": "builtin"}

    with patch.dict(os.environ, environ, clear=True):
        for tool, arguments in (
            ("status", {}),
            ("search", {"query": "gpu"}),
            ("list", {}),
            ("update", {}),
            ("store", {"doc_id": "a", "text": "gpu"}),
        ):
            told = Called(environ).tools().call(f"memory_{tool}", arguments)
            assert "hunter22" not in str(told)
    with served(environ) as client:
        for path in (
            "/",
            "/api/status",
            "/api/overview",
            "/api/search?q=gpu",
            "/api/doctor",
            "/api/documents/none",
        ):
            assert "hunter22" not in client.get(path).text, path


def test_no_log_and_no_traceback_shows_it(
    with_password: tuple[str, dict[str, str]], environ: dict[str, str]
) -> None:
    address, variables = with_password
    code = (
        "import logging; logging.basicConfig(level=1)\n"
        "from hybrid_memory import HybridStore\n"
        f"with HybridStore({address!r}, {{'provider': 'none'}}) as store:\n"
        "    store.store('a', 'gpu'); store.search('gpu'); print(store.path, store.stats())\n"
        f"HybridStore({address.replace('host=/', 'host=/nowhere/')!r})\n"
    )
    program = Path(environ["HYBRID_MEMORY_CONFIG"]).with_name("program.py")
    program.write_text(code)
    done = subprocess.run(
        [sys.executable, program], env=environ | variables, capture_output=True, text=True
    )
    told = "\n".join(
        line for line in done.stderr.split("\n") if "HybridStore('postgresql" not in line
    )  # the program's own line
    assert "StoreError: cannot open postgresql://postgres@/" in told
    assert "hunter22" not in done.stdout + told


@pytest.mark.parametrize(
    "address",
    [
        "host=localhost bogus=1 password=hunter22 dbname=x",
        "postgresql://ann:hunter22@localhost/x?bogus=1",
    ],
)
def test_an_address_that_libpq_does_not_take_is_told_without_any_value(
    address: str, run: Run
) -> None:
    told = run("--db", address, "search", "gpu").stderr
    assert "the address cannot be read; it should look like" in told
    assert "hunter22" not in told
