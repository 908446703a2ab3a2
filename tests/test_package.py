"""The package in somebody else's program: the README's example, an installed wheel, its types, and its silence."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.command import Run, answer

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()

USE = """
from hybrid_memory import HybridMemoryError, HybridStore, Result
from hybrid_memory.chunker import Chunk, chunk_text

with HybridStore(":memory:", {"provider": "none"}) as store:
    count: int = store.store("a", "# Head\\n\\ntext")
    wrong: str = store.store("b", "b")  # type: ignore[assignment]
    hits: list[Result] = store.search("text", limit=3)
    store.search(1)  # type: ignore[arg-type]
    for hit in hits:
        citation: str = hit["citation"]
        hit["cite"]  # type: ignore[typeddict-item]
chunks: list[Chunk] = chunk_text("x")
error: type[Exception] = HybridMemoryError
"""

TROUBLE = """
import os, pathlib, sys
{logging}
from hybrid_memory import HybridStore, QueryError, StoreError
from hybrid_memory.extras.doctor import examine
from hybrid_memory.sync.ingest import Ingest
from hybrid_memory.browse.lists import documents
from hybrid_memory.browse.passage import read

pathlib.Path("notes").mkdir()
pathlib.Path("notes/a.md").write_bytes(b"caf\\xe9 gpu")
pathlib.Path("notes/b.md").write_bytes(b"\\0")

def raises(kind, function, *args):
    try:
        function(*args)
    except kind:
        return
    sys.exit(f"no {{kind}}")

with HybridStore("m.db", {{"ollama_url": "http://127.0.0.1:9"}}) as store:
    report = Ingest(store).run(["notes"])
    assert report.errors and report.warnings and report.embedding_problems
    store.store("x", "gpu server")
    assert store.search("gpu")
    assert store.search("gpu", mode="vector") == []
    raises(QueryError, read, store, "nothing")
    assert store.delete("nothing") == 0
    documents(store), examine(store), store.stats(), store.reindex()
raises(StoreError, HybridStore, "notes")
"""


def run_code(
    code: str, cwd: Path, python: str | Path = sys.executable
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-c", code], cwd=cwd, capture_output=True, text=True, timeout=120
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that has nothing but our wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    [wheel] = folder.glob("*.whl")
    [packages] = folder.glob("venv/lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    return folder / "venv/bin/python"


def test_readme_example_prints_what_the_readme_says(installed: Path, tmp_path: Path) -> None:
    section = README.split("### In Python")[1]
    [code, output] = re.findall(
        r"^```(?:python|text)\n(.*?)^```", section, re.DOTALL | re.MULTILINE
    )[:2]
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-01-05.md").write_text("# Today\n\nThe GPU server moved.\n")
    done = run_code(code, tmp_path, installed)
    assert (done.stdout, done.stderr) == (output, "")


def test_the_wheel_has_every_file_of_the_page(installed: Path) -> None:
    page = ROOT / "hybrid_memory/extras/serve/page"
    [there] = installed.parent.parent.glob(
        "lib/python*/site-packages/hybrid_memory/extras/serve/page"
    )
    wanted = {path.relative_to(page) for path in page.rglob("*") if path.is_file()}
    assert Path("vendor/marked.LICENSE.txt") in wanted
    assert {path.relative_to(there) for path in there.rglob("*") if path.is_file()} == wanted


def test_types_are_seen_in_an_installed_wheel(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--python-executable",
        installed,
        "--config-file=",
        "use.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stdout
    runs = USE.replace("    store.search(1)", "    0").replace('["cite"]', '["citation"]')
    assert run_code(runs, tmp_path, installed).returncode == 0


@pytest.mark.parametrize(
    "logging", ["", "import logging, warnings; warnings.simplefilter('error')"]
)
def test_library_prints_nothing_whatever_goes_wrong(tmp_path: Path, logging: str) -> None:
    done = run_code(TROUBLE.format(logging=logging), tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_program_that_set_up_logging_gets_the_embedders_messages(tmp_path: Path) -> None:
    done = run_code(
        TROUBLE.format(
            logging="import logging; logging.basicConfig(format='%(name)s %(levelname)s %(message)s')"
        ),
        tmp_path,
    )
    ours = [line for line in done.stderr.splitlines() if line.startswith("hybrid_memory ")]
    assert ours
    assert all(line.startswith("hybrid_memory WARNING cannot connect") for line in ours)


def test_the_script_of_the_plan_is_the_command(
    environ: dict[str, str], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-01-05.md").write_text("# Pi\n\nThe Pi has the address 10.0.3.7.\n")
    for words in (
        ["ingest", "--path", "memory/", "--pattern", "*.md", "--incremental"],
        ["store", "--doc-id", "ssh", "--text", "SSH listens on port 2222."],
        ["stats"],
        ["reindex"],
        ["delete", "--doc-id", "ssh"],
    ):
        assert answer(run(*words)), words
    script = [sys.executable, str(ROOT / "scripts/hybrid_memory_cli.py")]
    search = ["search", "--query", "Pi address", "--limit", "1", "--mode", "hybrid"]
    done = subprocess.run(
        [*script, *search], cwd=tmp_path, env=environ, capture_output=True, text=True
    )
    assert answer(done)[0]["doc_id"] == "memory/2026-01-05.md"
