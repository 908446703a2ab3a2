"""What keeps the house one that can be known, beside the contracts of import-linter in pyproject.toml.

A limit that is met is a reason to think: about what a part is for, never about where to cut it in two.
"""

import ast
import io
import re
import subprocess
import sys
import tokenize
from functools import cache
from pathlib import Path

import pytest

import hybrid_memory
from hybrid_memory.embedding import protocol as providers
from hybrid_memory.extras.rerankers.servers import FORMS
from hybrid_memory.seams import (
    COMMANDS,
    EDITOR,
    ENGINES,
    FORMATS,
    MARKDOWN,
    PICKER,
    PROVIDERS,
    RERANKED,
    RERANKERS,
    load,
)

PACKAGE = Path(hybrid_memory.__file__).parent
MODULES = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
INSIDE = {path: text for path, text in MODULES.items() if path.name != "__init__.py"}
CORE = {
    path: text for path, text in INSIDE.items() if "extras" not in path.relative_to(PACKAGE).parts
}
SKIPPED = {
    tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER,
}  # fmt: skip
ROOMS = ("documents.", "embedding.", "extras.", "search.", "storage.", "surface.", "sync.", "text.")
TABLES = ("chunks", "documents")  # modules have these names, too
DOORS = {"__main__.py", "chunker.py", "embedder.py", "fts.py", "merger.py", "vector.py"}


def lines(text: str) -> int:
    return text.count("\n")


@cache
def tokens_of(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


@cache
def tree_of(text: str) -> ast.Module:
    return ast.parse(text)


def code_lines(text: str) -> int:
    """Lines with code: not blank ones, comments and docstrings."""
    lines = {
        line
        for token in tokens_of(text)
        if token.type not in SKIPPED
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(tree_of(text)):
        if isinstance(
            node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ) and ast.get_docstring(node):
            lines -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(lines)


def count_tokens(text: str) -> int:
    """How many tokens code has, an f-string as one, as it was before Python 3.12 (PEP 701)."""
    begins = getattr(tokenize, "FSTRING_START", None)
    ends = getattr(tokenize, "FSTRING_END", None)
    depth = 0
    count = 0
    for token in tokens_of(text):
        count += depth == 0 and token.type not in SKIPPED
        depth += (token.type == begins) - (token.type == ends)
    return count


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


def test_the_core_is_small_enough_to_be_known() -> None:
    assert len(CORE) <= 85
    assert sum(map(code_lines, CORE.values())) <= 15_000
    assert len(INSIDE) <= 140


def test_a_module_is_one_subject_that_its_first_sentence_names() -> None:
    short = [path for path, text in INSIDE.items() if lines(text) < 40 and path.name not in DOORS]
    assert [
        name for name in names(short) if not name.startswith(("extras/providers/", "embedding/"))
    ] == []
    assert names([path for path, text in INSIDE.items() if lines(text) > 600]) == []
    for path, text in MODULES.items():
        docstring = ast.get_docstring(tree_of(text))
        assert path.name == "__main__.py" or (
            docstring and docstring[0].isupper() and "." in docstring
        ), path
        if path.name == "__init__.py" and path.parent != PACKAGE:
            assert [type(node) for node in tree_of(text).body] == [ast.Expr], path


def test_code_is_not_dense() -> None:
    tokens = sum(map(count_tokens, INSIDE.values()))
    filled = sum(bool(line.strip()) for text in INSIDE.values() for line in text.splitlines())
    assert tokens / filled <= 7.0
    assert max(len(line) for text in INSIDE.values() for line in text.splitlines()) <= 110


def test_no_module_is_in_a_circle_and_the_core_imports_no_extra() -> None:
    left = {path: imported(path, text) - {path} for path, text in MODULES.items()}
    assert [
        path
        for path in CORE
        if any("extras" in other.relative_to(PACKAGE).parts for other in left[path])
    ] == []
    while leaves := [path for path, others in left.items() if not others & left.keys()]:
        for path in leaves:
            del left[path]
    assert names(list(left)) == []


TRACED = """
import sys
from pathlib import Path
from hybrid_memory import HybridStore
from hybrid_memory.sync.ingest import Ingest

entered = set()

def note(frame, event, value):
    if event == "call" and "hybrid_memory" in frame.f_code.co_filename and frame.f_code.co_name != "<module>":
        entered.add(frame.f_code.co_filename)

what, top = sys.argv[1:]
folder = Path(top, "memory")
folder.mkdir()
for number in range(5):
    (folder / f"{number}.md").write_text(f"# Note {number}\\n\\nThe server {number} listens on port 222{number}.")
with HybridStore(Path(top, "a.db"), {"provider": "builtin"}) as store:
    if what == "ingest":
        sys.setprofile(note)
        Ingest(store).run([str(folder)])
    else:
        Ingest(store).run([str(folder)])
        sys.setprofile(note)
        store.search("which port does the server listen on?")
    sys.setprofile(None)
print(*sorted(entered), sep="\\n")
"""


@pytest.mark.parametrize(("what", "most"), [("search", 24), ("ingest", 36)])
def test_a_search_and_an_ingest_enter_few_modules(what: str, most: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TRACED, what, str(tmp_path)]
    entered = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert 10 < len(entered) <= most


def test_no_sql_is_executed_outside_of_storage() -> None:
    rooms = ("storage", "postgres", "rescue")
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
    assert all(map(callable, map(load, (RERANKED, PICKER, EDITOR))))
    assert set(PROVIDERS) == set(providers.TABLE)
    assert set(RERANKERS) == {"local", *FORMS}


FILE = re.compile(r"\b((?:[a-z_]+/)*[a-z_0-9]+\.py)\b")  # storage/rows.py
MEMBER = re.compile(r"`((?:[a-z_]+\.)*([a-z_]+)\.([A-Za-z_]+))`")  # `protocol.Links`


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
            texts = modules.get(module, [] if name.startswith(ROOMS) else [member])
            if module in TABLES or member in modules:  # chunks.slot, embedding.protocol
                continue
            if not any(re.search(rf"\b{member}\b", text) for text in texts):
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
