"""Prompt templates of known models.

The templates are copied from the model cards; texts for other models are sent unchanged.
"""

PLACEHOLDER = "{text}"
_NOMIC = ("search_query: {text}", "search_document: {text}")
_GEMMA = ("task: search result | query: {text}", "title: none | text: {text}")
_PASSAGES = ("Represent this sentence for searching relevant passages: {text}", PLACEHOLDER)
_ARCTIC_2 = ("query: {text}", PLACEHOLDER)
_E5 = ("query: {text}", "passage: {text}")
_INSTRUCT = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: {text}",
    PLACEHOLDER,
)
_QWEN = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}",
    PLACEHOLDER,
)

# Part of a model's name in lower case -> query's and document's template; the first match counts
TEMPLATES = {
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
    """The query's and the document's template of a model. Its tag, namespace and maker's prefix are
    ignored.

    `user/nomic-embed-text:v1.5 -> ("search_query: {text}", "search_document: {text}")`
    """
    name = model.lower()
    return next(
        (pair for part, pair in TEMPLATES.items() if part in name), (PLACEHOLDER, PLACEHOLDER)
    )


def wants_lower_case(model: str) -> bool:
    """Whether texts must be lower-cased for this model, which ignores case.

    Ollama 0.13.1 to 0.24 turns each word with a capital into an unknown token for such models
    (ollama/ollama issue 13942).
    """
    name = model.lower()
    return "nomic-embed-text" in name and "nomic-embed-text-v2" not in name
