"""README, SKILL.md and the help say what the program does."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from hybrid_memory import config
from hybrid_memory.arguments import build_parser

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
SKILL = (ROOT / "SKILL.md").read_text()


def commands() -> dict[str, argparse.ArgumentParser]:
    parser = build_parser()
    [action] = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return action.choices


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings if flag.startswith("--")}


def command_lines(text: str) -> list[list[str]]:
    """Every `hybrid-memory …` command line of a document, as words after the name."""
    joined = text.replace("\\\n", " ")
    found = re.findall(
        r"(?:^|`|\}|&& |\| |\$ |-m )(?:uv run [^\n`]*?)?hybrid[-_]memory ((?:[^`\n&|\"]|\"[^\"]*\")+)", joined, re.M
    )
    return [shlex.split(line, comments=True) for line in found]


@pytest.mark.parametrize("name", commands())
def test_readme_names_every_command_and_option(name: str) -> None:
    parser = commands()[name]
    assert f"`{name}" in README
    missing = {flag for flag in options(parser) - {"--help"} if flag not in README}
    assert missing == set()


@pytest.mark.parametrize("document", [README, SKILL], ids=["README", "SKILL"])
def test_documents_use_only_commands_and_options_that_exist(document: str) -> None:
    known = options(build_parser())
    lines = [line for line in command_lines(document) if line]
    assert lines
    for line in lines:
        used = {word.partition("=")[0] for word in line if word.startswith("--")}
        names = [word for word in line if word in commands()]
        allowed = known.union(*(options(commands()[name]) for name in names))
        assert used <= allowed, line


def test_readme_names_every_config_key_with_its_default() -> None:
    for key, value in config.DEFAULTS.items():
        shown = "null" if value is None else str(value) if not isinstance(value, str) else value
        assert re.search(rf"^\| `{key}` \| `\"?{re.escape(shown)}\"?` \|", README, re.M), key


def test_every_option_has_help() -> None:
    for name, parser in commands().items():
        for action in parser._actions:
            if action.option_strings and not action.help:
                assert action.dest in {"doc_id", "text", "metadata"}, (name, action.dest)


def test_readme_lists_every_module() -> None:
    for module in (ROOT / "hybrid_memory").rglob("*.py"):
        if module.name != "__init__.py" or module.parent.name == "hybrid_memory":
            assert module.name in README, module.name


def test_skill_runs_without_the_development_tools() -> None:
    runs = re.findall(r"uv run [^\n`]*hybrid-memory", SKILL)
    assert len(runs) >= 5
    assert all(run == "uv run -q --no-dev --project {baseDir} hybrid-memory" for run in runs)
