"""Which words of the results are words of the query, so that a client can mark them without knowing how words are stemmed."""

from collections.abc import Sequence
from typing import Any

from ....storage.stems import stems
from ....text.highlight import Highlighter
from ....text.query import Query


def add_marks(results: Sequence[dict[str, Any]], query: str) -> None:
    """Give each result `marks`: the words of its text and headings that match the query, as they are written, each once."""
    texts = [f"{result['heading_path']}\n{result['text']}" for result in results]
    highlighter = Highlighter(Query(query), texts, stems)
    for result, text in zip(results, texts, strict=True):
        result["marks"] = list(dict.fromkeys(text[span.start : span.end] for span in highlighter.spans(text)))
