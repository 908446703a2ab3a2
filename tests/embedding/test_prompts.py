import pytest

from hybrid_memory.embedding import prompts

QWEN = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:{text}"
INSTRUCT = QWEN.replace("Query:", "Query: ")
E5 = ("query: {text}", "passage: {text}")
PASSAGES = "Represent this sentence for searching relevant passages: {text}"
GEMMA = ("task: search result | query: {text}", "title: none | text: {text}")
NOMIC = ("search_query: {text}", "search_document: {text}")


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("nomic-embed-text", NOMIC),
        ("user/nomic-embed-text:latest", NOMIC),
        ("nomic-embed-text-v2-moe", NOMIC),
        ("google/embeddinggemma-300m", GEMMA),
        ("gemini-embedding-2", GEMMA),
        ("mixedbread-ai/mxbai-embed-large-v1", (PASSAGES, "{text}")),
        ("snowflake-arctic-embed2", ("query: {text}", "{text}")),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", ("query: {text}", "{text}")),
        ("snowflake-arctic-embed:137m", (PASSAGES, "{text}")),
        ("Qwen/Qwen3-Embedding-4B", (QWEN, "{text}")),
        ("jeffh/intfloat-multilingual-e5-small:f16", E5),
        ("intfloat/multilingual-e5-large-instruct", (INSTRUCT, "{text}")),
        ("e5-mistral-7b-instruct", (INSTRUCT, "{text}")),
        ("all-minilm", ("{text}", "{text}")),
    ],
)
def test_templates_by_model_name(model, expected):
    assert prompts.templates(model) == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("nomic-embed-text", True),
        ("user/nomic-embed-text:v1.5", True),
        ("nomic-embed-text-v2-moe", False),
        ("all-minilm", False),
    ],
)
def test_only_the_uncased_nomic_models_want_lower_case(model, expected):
    assert prompts.wants_lower_case(model) is expected
