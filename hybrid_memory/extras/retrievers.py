"""Retrievers for agent frameworks: LangChainRetriever for langchain-core, LlamaIndexRetriever for
llama-index-core. Each class is created on its first import and needs only its framework.

Both take a store and keyword arguments of `HybridStore.search`. The metadata of each passage
include its citation.
"""

import asyncio
from functools import cache
from typing import Any

from ..store import HybridStore, Result

READ = ("citation", "heading_path", "date")  # metadata that a model sees with the text
KEPT = ("doc_id", "path", "start_line", "end_line", "score", "confidence", "newer")


def __getattr__(name: str) -> Any:
    if name == "LangChainRetriever":
        return _for_langchain()
    if name == "LlamaIndexRetriever":
        return _for_llama_index()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _metadata(result: Result) -> dict[str, Any]:
    """The document's metadata, overridden by the fields of the search result."""
    fields: dict[str, Any] = dict(result)
    return result["metadata"] | {key: fields[key] for key in (*READ, *KEPT)}


@cache
def _for_langchain() -> Any:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class LangChainRetriever(BaseRetriever):
        """A LangChain retriever over a store; `ainvoke` searches in a thread.

        `search` holds keyword arguments of `HybridStore.search`:
        {"limit": 5, "collection": "memory"}.
        """

        store: HybridStore
        search: dict[str, Any] = {}  # noqa: RUF012 pydantic copies the default of a field

        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[Document]:
            documents = []
            for result in self.store.search(query, **self.search):
                metadata = _metadata(result)
                documents.append(
                    Document(id=result["chunk_id"], page_content=result["text"], metadata=metadata)
                )
            return documents

    return LangChainRetriever


@cache
def _for_llama_index() -> Any:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class LlamaIndexRetriever(BaseRetriever):
        """A LlamaIndex retriever over a store; `aretrieve` searches in a thread.

        `search` holds keyword arguments of `HybridStore.search`.
        """

        def __init__(self, store: HybridStore, **search: Any) -> None:
            super().__init__()
            self._store = store
            self._search = search

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            nodes = []
            for result in self._store.search(query_bundle.query_str, **self._search):
                metadata = _metadata(result)
                node = TextNode(
                    id_=result["chunk_id"],
                    text=result["text"],
                    metadata=metadata,
                    excluded_llm_metadata_keys=[key for key in metadata if key not in READ],
                )
                nodes.append(NodeWithScore(node=node, score=result["score"]))
            return nodes

        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return await asyncio.to_thread(self._retrieve, query_bundle)

    return LlamaIndexRetriever
