"""How a missing package is added to the environment at hand, and what the pages tell to install."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

from hybrid_memory import paths
from hybrid_memory.extras import environment
from hybrid_memory.extras.environment import EXTRAS, STANDARD
from tests.test_docs import PAGES, ROOT, text

PROJECT = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
TOOL = ["uv", "tool", "install", "--editable"]


@pytest.mark.parametrize(
    ("present", "place", "has_pip", "package", "command"),
    [
        ([], "venv", True, "", [sys.executable, "-m", "pip", "install", "a>=2", "b"]),
        ([], "venv", False, "", ["uv", "pip", "install", "--python", "{}/venv", "a>=2", "b"]),
        (["pyproject.toml", "venv/uv-receipt.toml"], "venv", False, "", [*TOOL, "{}[standard]"]),
        (["pyproject.toml", "venv/uv-receipt.toml"], "venv", False, "fastembed", [*TOOL, "{}[all]"]),
        (["venv/uv-receipt.toml"], "venv", False, "", ["uv", "pip", "install", "--python", "{}/venv", "a>=2", "b"]),
        ([], ".venv", False, "", ["uv", "sync", "--inexact", "--extra", "serve", "--project", "{}"]),
        ([], ".venv", True, "", [sys.executable, "-m", "pip", "install", "a>=2", "b"]),
    ],
    ids=["pip", "no pip", "tool", "tool with more", "tool of a copy", "checkout", "checkout with pip"],
)  # fmt: skip
def test_packages_are_added_as_the_environment_was_made(
    present: list[str],
    place: str,
    has_pip: bool,
    package: str,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in present:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    found = {"pip": has_pip, package: True}
    monkeypatch.setattr(sys, "prefix", str(tmp_path / place))
    monkeypatch.setattr(paths, "CHECKOUT", str(tmp_path))
    monkeypatch.setattr(environment, "CHECKOUT", str(tmp_path))
    monkeypatch.setattr(environment, "find_spec", found.get)
    expected = [word.replace("{}", str(tmp_path)) for word in command]
    assert environment.install_command("serve", ["a>=2", "b"]) == expected


def test_the_program_is_named_as_the_shell_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "hybrid-memory"
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    monkeypatch.delenv("UV_RUN_RECURSION_DEPTH", raising=False)
    assert environment.program() == [sys.executable, "-m", "hybrid_memory"]  # not executable
    script.touch(0o755)
    assert environment.program() == ["hybrid-memory"]
    assert environment.program(for_cron=True) == [str(script)]
    (tmp_path / "first").mkdir()
    (tmp_path / "first/hybrid-memory").touch(0o755)  # another one
    monkeypatch.setenv("PATH", f"{tmp_path}/first:{tmp_path}")
    assert environment.program() == [str(script)]
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin")
    monkeypatch.setenv("UV_RUN_RECURSION_DEPTH", "1")
    assert environment.program() == [str(script)]


def test_the_extras_are_those_of_the_project() -> None:
    extras = dict(PROJECT["optional-dependencies"])
    assert sorted(extras.pop("all")) == sorted(" ".join(EXTRAS.values()).split())
    assert extras.pop("standard") == " ".join(EXTRAS[extra] for extra in STANDARD).split()
    assert extras == {extra: requirements.split() for extra, requirements in EXTRAS.items()}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_pages_install_the_editable_checkout_or_our_name_on_the_index(page: Path) -> None:
    """Another program is called "hybrid-memory" on the index."""
    installs = re.findall(r"\b(?:pipx?|tool) install[^`\n]*|\buv add[^`\n]*", text(page))
    for line in installs:
        if "tool install" in line:
            assert line.startswith("tool install --editable "), line
        assert not re.search(r"\bhybrid-memory(?!-search)\b", line), line


def test_code_tells_to_install_in_one_module_only() -> None:
    """All commands that install are made by `install_command`, tested above; and none names our own name on an index."""
    tells = re.compile(r"pip install|tool install|uv add|uvx|pipx|hybrid-memory(?:-search)?\[")
    modules = [
        path for path in (ROOT / "hybrid_memory").rglob("*.py") if path.name != "environment.py"
    ]
    assert [str(path) for path in modules if tells.search(text(path))] == []
    assert PROJECT["name"] == "hybrid-memory-search"
    assert PROJECT["scripts"] == {"hybrid-memory": "hybrid_memory.cli:entry_point"}


def test_message_names_package_and_command(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["uv", "pip", "install", "starlette>=0.40", "uvicorn>=0.30"]
    monkeypatch.setattr(environment, "install_command", lambda extra, requirements: command)
    assert environment.missing_package("`hybrid-memory serve`", "serve") == (
        "`hybrid-memory serve` needs the Python package starlette and uvicorn, which this environment does not have; "
        "add it with `uv pip install 'starlette>=0.40' 'uvicorn>=0.30'`"
    )
