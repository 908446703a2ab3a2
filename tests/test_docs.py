"""README, SKILL.md, the pages in docs/ and the help say what the program does."""

import importlib
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_memory import config
from hybrid_memory.registry import COMMANDS
from hybrid_memory.surface.arguments import Parser, command_parser, parse
from tests.command import NO_SERVER

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
SKILL = ROOT / "SKILL.md"
PAGES = [README, SKILL, *sorted(DOCS.glob("*.md"))]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"!?\[[^]]*\]\(([^)\s]+)\)")
CONFIG_KEY = re.compile(r"^\| `(\w+)` \| `([^`]*)` \|", re.MULTILINE)


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def commands() -> dict[str, Parser]:
    return {name: command_parser(name) for name in COMMANDS}


def options(parser: Parser) -> set[str]:
    return {
        flag
        for argument in parser.arguments
        for flag in argument.option_strings
        if flag.startswith("--")
    }


def section(page: str, title: str) -> str:
    """What stands below a heading, up to the next one that is not below it."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", page, re.MULTILINE)
    assert found, f"no section {title!r}"
    rest = page[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def complete_lines(block: str) -> Iterator[str]:
    """The lines of a shell block; one whose quotes or backslash go on is joined with the next."""
    held = ""
    for line in block.splitlines():
        held = f"{held}\n{line}" if held else line
        if held.endswith("\\"):
            held = held[:-1]
            continue
        try:
            shlex.split(held)
        except ValueError:
            continue
        yield held
        held = ""


def shell_lines(page: str) -> Iterator[str]:
    """Every line that a page gives to a shell: in a block, after the prompt of a console, or between backquotes."""
    for language, block in FENCE.findall(page):
        if language == "bash":
            yield from complete_lines(block)
        elif language == "text":  # a crontab, perhaps
            yield from block.splitlines()
        elif language == "console":
            yield from (
                line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")
            )
    prose = FENCE.sub(lambda fence: fence[2] if fence[1] == "markdown" else "", page)
    yield from (" ".join(code.split()) for code in CODE.findall(prose))


def command_lines(page: str) -> list[list[str]]:
    """The arguments of every `hybrid-memory …` on a page; a command's name without any argument is not one."""
    found = []
    for line in shell_lines(page):
        lexer = shlex.shlex(re.sub(r"\s#\s.*", "", line), posix=True, punctuation_chars=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        words = list(lexer) if re.search("hybrid.memory", line) else []
        for number, word in enumerate(words):
            if Path(word).name == "hybrid-memory" or words[number - 1 : number + 1] == [
                "-m",
                "hybrid_memory",
            ]:
                rest = words[number + 1 :]
                end = next(
                    (i for i, other in enumerate(rest) if set(other) <= set("();<>|&")), len(rest)
                )
                if rest[:end] and rest[:end] not in [[name] for name in COMMANDS]:
                    found.append(rest[:end])
    return found


def exit_status(arguments: list[str]) -> object:
    """What parsing these arguments exits with: 0 if it does not, or prints help."""
    try:
        parse(arguments)
    except SystemExit as stop:
        return stop.code
    return 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_parses(page: Path) -> None:
    assert [
        arguments for arguments in command_lines(text(page)) if exit_status(arguments) != 0
    ] == []


def test_commands_are_found_in_blocks_in_prose_and_in_pipes() -> None:
    page = (
        "Run `hybrid-memory search\n--limit 3 gpu` or `hybrid-memory update`.\n```bash\nuv run -q hybrid-memory store --doc-id a "
        '--text "# A\n\nB." && python -m hybrid_memory stats >x\n```\n```console\n$ hybrid-memory list --limit 1 | head\n'
        "hybrid-memory: a `hybrid-memory nothing --bad` in an answer\n```\n```text\n0 6 * * *  ~/bin/hybrid-memory get a#L1\n```\n"
    )
    assert command_lines(page) == [
        ["store", "--doc-id", "a", "--text", "# A\n\nB."],
        ["list", "--limit", "1"],
        ["get", "a#L1"],
        ["search", "--limit", "3", "gpu"],
    ]
    assert all(command_lines(text(page)) for page in (README, SKILL, DOCS / "command-line.md"))


def test_readme_fits_on_a_few_screens() -> None:
    assert len(text(README).splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(text(page)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), target
        if anchor:
            titles = re.findall(r"^#+ (.*)", FENCE.sub("", text(file)), re.MULTILINE)
            assert anchor in {
                re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles
            }, target


def test_readme_leads_to_every_page() -> None:
    linked = {(ROOT / target.partition("#")[0]).resolve() for target in LINK.findall(text(README))}
    assert set(PAGES) - {README} <= linked


def test_tables_of_commands_and_options_are_what_the_parser_has() -> None:
    page = text(DOCS / "command-line.md")
    tables = runpy.run_path(str(DOCS / "make_option_tables.py"))
    for other in ("command-line.md", "python.md"):
        written = text(DOCS / other)
        assert tables["rewritten"](written) == written, "run docs/make_option_tables.py"
    assert "<!-- options of searches in Python -->" in text(DOCS / "python.md")
    for name, parser in commands().items():
        own = tables["own_arguments"](parser, name)
        assert not own or f"<!-- options of {name} -->" in section(page, name), name


def test_every_provider_is_documented() -> None:
    for page in ("configuration.md", "embedders.md"):
        assert all(
            f"`{provider}`" in text(DOCS / page) for provider in config.KEYS["provider"].choices
        ), page


def test_every_config_key_is_documented_with_its_default() -> None:
    shown = {
        key: str(value) if isinstance(value, str) else json.dumps(value)
        for key, value in config.DEFAULTS.items()
    }
    page = text(DOCS / "configuration.md")
    assert dict(CONFIG_KEY.findall(page)) == shown


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_ends_with_two_examples_that_parse(name: str) -> None:
    lines = str(command_parser(name).epilog).splitlines()
    assert lines[0] == "examples:"
    words = [shlex.split(line) for line in lines[1:]]
    assert [(line[0], line[1], exit_status(line[1:])) for line in words] == [
        ("hybrid-memory", name, 0)
    ] * 2
    assert all(len(line) <= 80 for line in lines)


def test_every_argument_has_help() -> None:
    for name, parser in commands().items():
        for argument in parser.arguments:
            assert argument.help, (name, argument.dest)


def test_architecture_names_every_room_and_every_module_above_them() -> None:
    page = text(DOCS / "architecture.md")
    package = ROOT / "hybrid_memory"
    names = [f"{room.parent.name}/" for room in package.glob("*/__init__.py")] + [
        module.name for module in package.glob("*.py")
    ]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_architecture_draws_the_layers_that_are_checked() -> None:
    settings = tomllib.loads(text(ROOT / "pyproject.toml"))["tool"]["importlinter"]
    [layers] = [
        contract["layers"] for contract in settings["contracts"] if contract["type"] == "layers"
    ]
    drawing = next(
        block
        for _, block in FENCE.findall(text(DOCS / "architecture.md"))
        if block.startswith("extras/")
    )
    drawn = [
        {name.removesuffix("/").removesuffix(".py") for name in line.split()}
        for line in drawing.splitlines()
    ]
    assert drawn == [set(layer.split(" | ")) for layer in layers]


def test_pages_name_only_files_that_exist() -> None:
    for page in PAGES:
        scripts = re.findall(
            r"\b((?:benchmarks|training)/\w+\.py)\b", text(page)
        )  # in commands, too
        for name in scripts + re.findall(
            r"`((?:hybrid_memory|tests|benchmarks|docs|training)/[\w./-]+)`", text(page)
        ):
            assert (ROOT / name).exists(), (page.name, name)


def test_contributing_names_what_the_modules_have() -> None:
    named = re.findall(r"`(\w+)` in\s`(hybrid_memory/[\w/]+\.py)`", text(DOCS / "contributing.md"))
    assert ("TABLE", "hybrid_memory/embedding/choice.py") in named
    assert [
        (name, module)
        for name, module in named
        if not re.search(rf"\b{name}\b", text(ROOT / module))
    ] == []


def test_skill_runs_without_the_development_tools() -> None:
    runs = re.findall(r"uv run [^\n`]*hybrid-memory", text(SKILL))
    assert len(runs) >= 5
    assert all(run == "uv run -q --project {baseDir} hybrid-memory" for run in runs)
    settings = tomllib.loads(text(ROOT / "pyproject.toml"))
    assert settings["tool"]["uv"]["default-groups"] == []
    assert settings["project"]["dependencies"] == ["requests>=2.28"]
    assert "`uv run --group dev pytest`" in text(README)
    assert [page.name for page in PAGES if "--no-dev" in text(page)] == []


@pytest.mark.parametrize(
    ("page", "title"),
    [(README, "In Python"), (DOCS / "python.md", "The library"), (DOCS / "python.md", "Threads")],
    ids=["README", "library", "threads"],
)
def test_python_examples_print_what_the_page_says(page: Path, title: str, tmp_path: Path) -> None:
    [code, output] = [
        block
        for language, block in FENCE.findall(section(text(page), title))
        if language in ("python", "text")
    ][:2]
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/2026-01-05.md").write_text("# Today\n\nThe GPU server moved.\n")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout, done.stderr) == (output, "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("script", ["make_terminal_svg.py", "make_score_svg.py"])
def test_pictures_show_what_the_program_answers(script: str) -> None:
    made = runpy.run_path(str(DOCS / script))
    assert text(made["TARGET"]) == made["picture"](), f"run docs/{script} again"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_first_screen_shows_what_the_program_answers(tmp_path: Path) -> None:
    run = runpy.run_path(str(DOCS / "make_terminal_svg.py"))["run"]
    [first] = [block for _, block in FENCE.findall(text(README)) if "--path docs/example" in block]
    ingest, search = command_lines(f"```console\n{first}```\n")
    answers = []
    environ = os.environ | {
        "HYBRID_MEMORY_CONFIG": str(ROOT / "config.json"),
        "HYBRID_MEMORY_DB_PATH": str(tmp_path / "told.db"),
        "OLLAMA_HOST": NO_SERVER,
    }
    for arguments in (ingest, search):
        command = [sys.executable, "-m", "hybrid_memory", *arguments]
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
        answers += [done.stderr, run(arguments, str(tmp_path / "m.db"))]
    answers = [re.sub(r"\033\[[\d;]*m", "", answer) for answer in answers]
    shown = [line for line in first.splitlines() if not line.startswith("$ ")]
    # The width of the terminal does not matter
    assert " ".join(" ".join(shown).split()) == " ".join("".join(answers).split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_only_what_python_can_import(page: Path) -> None:
    for name in re.findall(r"`(hybrid_memory(?:\.\w+)+)[`(]", text(page)):
        module, _, attribute = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), attribute), name
