"""Prompt templates of models that distinguish queries from documents. Knows nothing of servers.

The templates are those of the models' own cards. A model that is not listed takes its texts as they are.
"""

from ..errors import ConfigError

TEXT = "{text}"
_NOMIC = ("search_query: {text}", "search_document: {text}")
_GEMMA = ("task: search result | query: {text}", "title: none | text: {text}")
_PASSAGES = ("Represent this sentence for searching relevant passages: {text}", TEXT)
_ARCTIC_2 = ("query: {text}", TEXT)
_QWEN = ("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}", TEXT)

TEMPLATES = {  # a part of the model's name, in lower case; the first that fits counts
    "nomic-embed-text": _NOMIC,
    "embeddinggemma": _GEMMA,
    "gemini-embedding-2": _GEMMA,
    "mxbai-embed-large": _PASSAGES,
    "arctic-embed2": _ARCTIC_2,
    "arctic-embed-m-v2": _ARCTIC_2,
    "arctic-embed-l-v2": _ARCTIC_2,
    "arctic-embed": _PASSAGES,
    "qwen3-embedding": _QWEN,
}


def templates(model: str) -> tuple[str, str]:
    """The query's and the document's template of a model, whatever its tag, namespace or maker's prefix.

    `user/nomic-embed-text:v1.5 -> ("search_query: {text}", "search_document: {text}")`
    """
    name = model.lower()
    return next((pair for part, pair in TEMPLATES.items() if part in name), (TEXT, TEXT))


def checked(template: str) -> str:
    """The template itself. Raises ConfigError if it does not contain {text}."""
    if TEXT not in template:
        raise ConfigError(f"the prompt template {template!r} has no {TEXT} in it")
    return template


def wants_lower_case(model: str) -> bool:
    """Whether the model ignores capitals, but Ollama 0.13.1 to 0.24 turns words with capitals into unknown tokens."""
    name = model.lower()
    return "nomic-embed-text" in name and "nomic-embed-text-v2" not in name
