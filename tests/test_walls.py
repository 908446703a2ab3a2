"""The structure of the package, beside the contracts of import-linter in pyproject.toml.

Sizes are no tests: `.ci/sizes.py` prints them.
"""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import hybrid_memory
from hybrid_memory.embedding import choice
from hybrid_memory.extras.rerankers.servers import FORMS
from hybrid_memory.registry import (
    COMMANDS,
    COMPLETION,
    EDITOR,
    ENGINES,
    FORMATS,
    MARKDOWN,
    PROVIDERS,
    RERANKED,
    RERANKERS,
    load,
)
from hybrid_memory.storage.filters import FILTERS

PACKAGE = Path(hybrid_memory.__file__).parent
MODULES = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
INSIDE = {path: text for path, text in MODULES.items() if path.name != "__init__.py"}
CORE = {
    path: text for path, text in INSIDE.items() if "extras" not in path.relative_to(PACKAGE).parts
}
TABLES = ("chunks", "documents")  # modules have these names, too


@cache
def tree_of(text: str) -> ast.Module:
    return ast.parse(text)


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(PACKAGE)) for path in paths]


def imported(path: Path, text: str) -> set[Path]:
    """The modules of the package that a module imports, those for types alone and those in functions included."""
    found: set[Path] = set()
    for node in ast.walk(tree_of(text)):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            found |= {
                place
                for name in node.names
                for place in (folder / f"{name.name}.py", folder.with_suffix(".py"))
            }
    return found & MODULES.keys()


def test_a_module_begins_with_a_sentence_about_its_subject() -> None:
    for path, text in MODULES.items():
        docstring = ast.get_docstring(tree_of(text))
        assert path.name == "__main__.py" or (
            docstring and docstring[0].isupper() and "." in docstring
        ), path
        if path.name == "__init__.py" and path.parent != PACKAGE:
            assert [type(node) for node in tree_of(text).body] == [ast.Expr], path


def test_no_module_is_in_a_circle_and_the_core_imports_no_extra() -> None:
    left = {path: imported(path, text) - {path} for path, text in MODULES.items()}
    assert [
        path
        for path in CORE
        if any("extras" in other.relative_to(PACKAGE).parts for other in left[path])
    ] == []
    assert names(circles(left)) == []


def circles(left: dict[Path, set[Path]]) -> list[Path]:
    """Return the modules that import each other, or that import such modules."""
    left = dict(left)
    while leaves := [path for path, others in left.items() if not others & left.keys()]:
        for path in leaves:
            del left[path]
    return list(left)


SCRIPTS = PACKAGE / "extras" / "serve" / "page" / "js"
IMPORT = re.compile(r"""^(?:import|export)\b[^;]*?["']\./([\w-]+\.js)["'];""", re.MULTILINE)


def test_the_page_keeps_every_filter_in_its_address() -> None:
    labels = (SCRIPTS / "state.js").read_text("utf-8").partition("FILTERS = {")[2].partition("}")[0]
    assert sorted(re.findall(r"(\w+): \"", labels)) == sorted(
        option.name or field for field, option in FILTERS.items()
    )


def test_no_script_of_the_page_is_in_a_circle() -> None:
    imports = {
        path: {SCRIPTS / name for name in IMPORT.findall(path.read_text("utf-8"))}
        for path in sorted(SCRIPTS.glob("*.js"))
    }
    assert sum(map(len, imports.values())) > 20
    assert names(circles(imports)) == []


def test_no_sql_is_executed_outside_of_storage() -> None:
    rooms = ("storage", "postgres")
    told = [
        path
        for path, text in MODULES.items()
        if ".execute" in text and not {*rooms} & {*path.relative_to(PACKAGE).parts}
    ]
    assert names(told) == []


def test_every_row_of_a_table_of_names_leads_somewhere() -> None:
    places = [place for command in COMMANDS.values() for place in (command.options, command.run)]
    places += [
        *FORMATS.values(),
        MARKDOWN,
        *PROVIDERS.values(),
        *RERANKERS.values(),
        *ENGINES.values(),
    ]
    assert all(callable(load(place)) or place in {*FORMATS.values(), MARKDOWN} for place in places)
    assert all(map(callable, map(load, (COMPLETION, EDITOR, RERANKED))))
    assert set(PROVIDERS) == set(choice.TABLE)
    assert set(RERANKERS) == {"local", *FORMS}


FILE = re.compile(r"\b((?:[a-z_]+/)*[a-z_0-9]+\.py)\b")  # storage/rows.py
# `interface.Links`, `loopback.LoopbackSession.request`
MEMBER = re.compile(r"`((?:[a-z_]+\.)*([a-z_]+)\.([A-Za-z_]+)(?:\.[A-Za-z_]+)*)`")


OUTSIDE = {"args", "int", "json", "os"}


def test_what_comments_and_docstrings_name_is_there() -> None:
    places = [f"/{path.relative_to(PACKAGE)}" for path in MODULES]
    modules: dict[str, list[str]] = {}
    for path, text in MODULES.items():
        modules.setdefault(path.stem, []).append(text)
    wrong = []
    for path, text in MODULES.items():
        for name in FILE.findall(text):
            place = f"/{name.removeprefix('hybrid_memory/')}"
            if not any(known.endswith(place) for known in places):
                wrong.append((path.name, name))
        for name, module, member in MEMBER.findall(text):
            if module in TABLES or module in OUTSIDE or member in modules:
                continue  # chunks.slot, os.scandir, embedding.choice
            if not any(re.search(rf"\b{member}\b", text) for text in modules.get(module, [])):
                wrong.append((path.name, name))
    assert wrong == []


def test_the_names_of_the_contract_are_doors_to_the_rooms() -> None:
    from hybrid_memory.chunker import Chunk, chunk_text
    from hybrid_memory.embedder import OllamaEmbedder
    from hybrid_memory.fts import FTSIndex
    from hybrid_memory.merger import merge_results
    from hybrid_memory.store import HybridStore
    from hybrid_memory.vector import (
        VectorSearch,
        cosine_similarity,
        decode_embedding,
        encode_embedding,
    )

    contract = (
        Chunk, chunk_text, OllamaEmbedder, FTSIndex, merge_results, HybridStore, VectorSearch, cosine_similarity, decode_embedding,
        encode_embedding,
    )  # fmt: skip
    assert all(callable(name) for name in contract)


def test_every_filter_is_a_condition_of_both_engines() -> None:
    from hybrid_memory.extras.postgres import selection as on_postgres
    from hybrid_memory.storage.filters import Filters
    from hybrid_memory.storage.sqlite import selection as on_sqlite

    for engine in (on_sqlite, on_postgres):
        assert {*engine.ON_DOCUMENTS, *engine.ON_CHUNKS} == set(Filters._fields)


def test_every_test_is_run_by_one_of_the_commands_of_ci() -> None:
    root = PACKAGE.parent
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    places = ["tests/extras", *settings["tool"]["pytest"]["ini_options"]["testpaths"]]
    run = {path for place in places for path in root.glob(place)}
    tests = list((root / "tests").rglob("test_*.py"))
    assert tests
    assert not [path for path in tests if run.isdisjoint([path, *path.parents])]
