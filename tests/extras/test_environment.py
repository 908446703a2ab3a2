"""How a missing package is added to the environment at hand, and what the pages tell to install."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory.extras.environment import EXTRAS, STANDARD
from tests.test_docs import PAGES, ROOT, shell_lines, text

PROJECT = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
ASK = "import json; from hybrid_memory.extras.environment import install_command; print(json.dumps(install_command('serve', ['a>=2', 'b'])))"

INSTALLERS = [
    ("pip", "install"),
    ("uv", "tool", "install"),
    ("uv", "pip", "install"),
    ("uv", "add"),
    ("pipx", "install"),
]
WITH_VALUE = ("--with", "--python", "--project", "--extra")
REQUIREMENTS = " ".join(EXTRAS.values()).split()
THIRD_PARTY = {*REQUIREMENTS, *(requirement.partition(">")[0] for requirement in REQUIREMENTS)}


def command(environment: Path, package: Path, **environ: str) -> list[str]:
    """What a process of this environment says that adds two packages, with our package imported from a folder."""
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(package), **environ}
    done = subprocess.run(
        [environment / "bin/python", "-c", ASK],
        cwd=environment,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    return found


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An environment without pip."""
    venv.create(tmp_path / "venv", symlinks=True)
    return tmp_path / "venv"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "check out"
    shutil.copytree(ROOT / "hybrid_memory", folder / "hybrid_memory")
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_where_pip_is_it_adds_the_package(bare: Path) -> None:
    [packages] = bare.glob("lib/python*/site-packages")
    (packages / "pip.py").touch()
    assert command(bare, ROOT) == [str(bare / "bin/python"), "-m", "pip", "install", "a>=2", "b"]


def test_an_environment_without_pip_is_named_to_uv(bare: Path) -> None:
    assert command(bare, ROOT) == ["uv", "pip", "install", "--python", str(bare), "a>=2", "b"]


def test_a_tool_of_uv_is_installed_again_from_the_checkout(bare: Path, tmp_path: Path) -> None:
    (bare / "uv-receipt.toml").touch()
    assert command(bare, ROOT) == ["uv", "tool", "install", "--editable", f"{ROOT}[standard]"]
    [packages] = bare.glob("lib/python*/site-packages")
    (packages / "fastembed.py").touch()  # it stays
    assert command(bare, ROOT) == ["uv", "tool", "install", "--editable", f"{ROOT}[all]"]
    (packages / "fastembed.py").unlink()
    copied = tmp_path / "copied"
    shutil.copytree(ROOT / "hybrid_memory", copied / "hybrid_memory")
    assert command(bare, copied) == ["uv", "pip", "install", "--python", str(bare), "a>=2", "b"]


@pytest.mark.parametrize("place", [".venv", "elsewhere/env"])
def test_the_environment_of_a_checkout_gets_the_extra(checkout: Path, place: str) -> None:
    venv.create(checkout / place, symlinks=True)
    environ = {} if place == ".venv" else {"UV_PROJECT_ENVIRONMENT": place}
    expected = [
        "uv",
        "sync",
        "--inexact",
        "--extra",
        "serve",
        "--project",
        str(checkout),
    ]
    assert command(checkout / place, checkout, **environ) == expected
    [packages] = (checkout / place).glob("lib/python*/site-packages")
    (packages / "pip.py").touch()  # as `python -m venv` makes it, not uv
    assert command(checkout / place, checkout, **environ)[1:3] == ["-m", "pip"]


def test_the_extras_are_those_of_the_project() -> None:
    extras = dict(PROJECT["optional-dependencies"])
    assert sorted(extras.pop("all")) == sorted(" ".join(EXTRAS.values()).split())
    assert extras.pop("standard") == " ".join(EXTRAS[extra] for extra in STANDARD).split()
    assert extras == {extra: requirements.split() for extra, requirements in EXTRAS.items()}


def installed(lines: Iterator[str]) -> list[str]:
    """What is installed by shell lines: every argument of an installer that is neither an option nor an option's value."""
    found = []
    for line in lines:
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            words = line.split()
        for number in range(len(words)):
            for installer in INSTALLERS:
                if tuple(words[number : number + len(installer)]) == installer:
                    rest = words[number + len(installer) :]
                    ends = next(
                        (i for i, word in enumerate(rest) if word in ("&&", ";", "|", "||")),
                        len(rest),
                    )
                    found += [
                        word
                        for before, word in zip(["", *rest], rest[:ends], strict=False)
                        if before == "--with" or not (word.startswith("-") or before in WITH_VALUE)
                    ]
    return found


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_pages_install_the_checkout_or_a_package_of_an_extra(page: Path) -> None:
    extras = "|".join([*EXTRAS, "standard", "all"])
    for name in installed(shell_lines(text(page))):
        assert (
            re.fullmatch(
                rf"(?:\.|hybrid-memory-search)(?:\[(?:{extras})(?:,(?:{extras}))*\])?", name
            )
            or name in THIRD_PARTY
        ), name


def test_pages_install_a_tool_as_an_editable_checkout() -> None:
    lines = [
        line for page in PAGES for line in shell_lines(text(page)) if "uv tool install" in line
    ]
    assert len(lines) >= 5
    assert all(line.startswith("uv tool install --editable ") for line in lines)


def test_install_lines_are_recognised() -> None:
    lines = [
        "pip install hybrid-memory",
        "python -m pip install 'hybrid-memory[mcp]' && ls",
        "uv tool install --editable '.[mcp]' --with rich",
    ]
    assert installed(iter(lines)) == ["hybrid-memory", "hybrid-memory[mcp]", ".[mcp]", "rich"]


def test_code_tells_to_install_in_one_module_only() -> None:
    """All commands that install are made by `install_command`, tested above; and none names our own name on an index."""
    tells = re.compile(r"pip install|tool install|uv add|uvx|pipx|hybrid-memory(?:-search)?\[")
    modules = [
        path for path in (ROOT / "hybrid_memory").rglob("*.py") if path.name != "environment.py"
    ]
    assert [str(path) for path in modules if tells.search(text(path))] == []
    assert PROJECT["name"] == "hybrid-memory-search"
    assert PROJECT["scripts"] == {"hybrid-memory": "hybrid_memory.cli:entry_point"}


@pytest.mark.skipif(sys.platform == "win32", reason="the paths are those of other systems")
def test_message_names_package_and_command(bare: Path) -> None:
    code = "from hybrid_memory.extras.environment import missing_package; print(missing_package('`hybrid-memory serve`', 'serve'))"
    done = subprocess.run(
        [bare / "bin/python", "-c", code],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == (
        "`hybrid-memory serve` needs the Python package starlette and uvicorn, which this environment does not have; "
        f"add it with `uv pip install --python {shlex.quote(str(bare))} 'starlette>=0.40' 'uvicorn>=0.30'`\n"
    )
