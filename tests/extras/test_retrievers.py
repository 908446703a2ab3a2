"""The retrievers, by the real packages of both frameworks.

These are heavy and in a dependency group of their own: `uv run --group dev --group frameworks pytest tests/extras/test_retrievers.py`.
"""

import asyncio
import importlib.util
import os
from collections.abc import Iterator
from typing import Any

import pytest

from hybrid_memory import HybridStore
from hybrid_memory.extras import retrievers

REQUIRED = os.environ.get("HYBRID_MEMORY_TEST_FRAMEWORKS") == "required"
QUESTION = "which port does SSH on the GPU server use?"


def needs(package: str) -> pytest.MarkDecorator:
    is_missing = not REQUIRED and importlib.util.find_spec(package) is None
    return pytest.mark.skipif(is_missing, reason=f"{package} is not installed")


@pytest.fixture
def store() -> Iterator[HybridStore]:
    with HybridStore(":memory:", {"provider": "builtin"}) as store:
        store.store("hosts/gpu", "# GPU server\n\nSSH listens on port 2222.", {"owner": "ann"})
        store.store("people/ann", "# Ann\n\nShe looks after the servers and their SSH ports.")
        yield store


@needs("langchain_core")
def test_langchain_gets_passages_with_their_citations(store: HybridStore) -> None:
    retriever: Any = retrievers.LangChainRetriever(store=store, search={"limit": 1})
    [document] = retriever.invoke(QUESTION)
    assert "port 2222" in document.page_content
    assert document.metadata["citation"] == "hosts/gpu#L1-L3"
    assert document.metadata["owner"] == "ann"
    assert [document] == asyncio.run(retriever.ainvoke(QUESTION))


@needs("langchain_core")
def test_langchain_gets_what_the_keywords_of_a_search_leave(store: HybridStore) -> None:
    retriever: Any = retrievers.LangChainRetriever(store=store, search={"collection": "people"})
    assert [document.id for document in retriever.invoke(QUESTION)] == ["people/ann-0"]


@needs("llama_index")
def test_llama_index_gets_passages_with_their_citations(store: HybridStore) -> None:
    retriever: Any = retrievers.LlamaIndexRetriever(store, limit=1)
    [found] = retriever.retrieve(QUESTION)
    assert found.score == store.search(QUESTION, 1)[0]["score"]
    assert found.node.metadata["citation"] == "hosts/gpu#L1-L3"
    [awaited] = asyncio.run(retriever.aretrieve(QUESTION))
    assert awaited.node.node_id == found.node.node_id


@needs("llama_index")
def test_llama_index_shows_a_model_where_a_passage_stands_and_no_more(store: HybridStore) -> None:
    from llama_index.core.schema import MetadataMode

    [found] = retrievers.LlamaIndexRetriever(store, collection="hosts").retrieve(QUESTION)
    shown = found.node.get_content(MetadataMode.LLM)
    assert "citation: hosts/gpu#L1-L3" in shown
    assert "confidence" not in shown


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="HaystackRetriever"):
        _ = retrievers.HaystackRetriever
