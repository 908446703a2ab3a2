"""What keeps the rooms apart, beside the contracts of import-linter in pyproject.toml."""

import ast
from pathlib import Path

import pytest

import hybrid_memory
from hybrid_memory import config
from hybrid_memory.embedding import providers
from hybrid_memory.search.reranking.servers import FORMS

PACKAGE = Path(hybrid_memory.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 300


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_sql_is_executed_outside_of_storage(path: Path) -> None:
    if "storage" not in path.relative_to(PACKAGE).parts:
        assert ".execute" not in path.read_text("utf-8")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_begins_with_a_sentence_and_is_not_long(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= MOST_LINES
    docstring = ast.get_docstring(ast.parse(text))
    assert path.name == "__main__.py" or (docstring and docstring[0].isupper() and "." in docstring)


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py" and path.parent != PACKAGE])
def test_the_init_of_a_room_holds_a_sentence_only(path: Path) -> None:
    assert [type(node) for node in ast.parse(path.read_text("utf-8")).body] == [ast.Expr]


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES}), ids=lambda path: path.name)
def test_a_room_has_few_files(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= 14


def test_the_names_of_the_contract_are_doors_to_the_rooms() -> None:
    from hybrid_memory.chunker import Chunk, chunk_text
    from hybrid_memory.embedder import OllamaEmbedder
    from hybrid_memory.fts import FTSIndex
    from hybrid_memory.merger import merge_results
    from hybrid_memory.store import HybridStore
    from hybrid_memory.vector import VectorSearch, cosine_similarity, decode_embedding, encode_embedding

    names = (
        Chunk, chunk_text, OllamaEmbedder, FTSIndex, merge_results, HybridStore, VectorSearch, cosine_similarity, decode_embedding,
        encode_embedding,
    )  # fmt: skip
    assert all(callable(name) for name in names)


def test_every_provider_of_the_table_can_be_configured() -> None:
    assert set(config.PROVIDERS) == {"auto", "none", *providers.TABLE}
    assert set(config.RERANKERS) == {"none", "local", *FORMS}
