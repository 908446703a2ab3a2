"""Prompt templates of models that distinguish queries from documents. This module knows nothing of servers.

The templates are copied from the model cards. A model that is not listed gets its texts unchanged.
"""

from ..errors import ConfigError

TEXT = "{text}"
_NOMIC = ("search_query: {text}", "search_document: {text}")
_GEMMA = ("task: search result | query: {text}", "title: none | text: {text}")
_PASSAGES = ("Represent this sentence for searching relevant passages: {text}", TEXT)
_ARCTIC_2 = ("query: {text}", TEXT)
_E5 = ("query: {text}", "passage: {text}")
_INSTRUCT = ("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: {text}", TEXT)
_QWEN = ("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}", TEXT)

TEMPLATES = {  # part of a model's name in lower case -> query's and document's template; the first match counts
    "nomic-embed-text": _NOMIC,
    "embeddinggemma": _GEMMA,
    "gemini-embedding-2": _GEMMA,
    "mxbai-embed-large": _PASSAGES,
    "arctic-embed2": _ARCTIC_2,
    "arctic-embed-m-v2": _ARCTIC_2,
    "arctic-embed-l-v2": _ARCTIC_2,
    "arctic-embed": _PASSAGES,
    "qwen3-embedding": _QWEN,
    "e5-large-instruct": _INSTRUCT,
    "e5-mistral": _INSTRUCT,
    **dict.fromkeys(("multilingual-e5", "e5-small", "e5-base", "e5-large"), _E5),
}


def templates(model: str) -> tuple[str, str]:
    """The query's and the document's template of a model. Its tag, namespace and the prefix of its maker do not matter.

    `user/nomic-embed-text:v1.5 -> ("search_query: {text}", "search_document: {text}")`
    """
    name = model.lower()
    return next((pair for part, pair in TEMPLATES.items() if part in name), (TEXT, TEXT))


def checked(template: str) -> str:
    """The template, unchanged. Raises ConfigError if it does not contain {text}."""
    if TEXT not in template:
        raise ConfigError(f"the prompt template {template!r} does not contain {TEXT}")
    return template


def wants_lower_case(model: str) -> bool:
    """Whether texts have to be lower-cased for the model, which does not distinguish capitals.

    Ollama 0.13.1 to 0.24 turns each word with a capital into an unknown token for such models (ollama/ollama issue 13942).
    """
    name = model.lower()
    return "nomic-embed-text" in name and "nomic-embed-text-v2" not in name
