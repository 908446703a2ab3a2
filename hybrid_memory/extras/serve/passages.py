"""Passages as the page shows them: those that are similar to one of a document, by stored embeddings
without a model, and the matching words and the excerpt of a result.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import QueryError
from ...search.request import Request
from ...store import HybridStore, retry_once
from ...surface.output import AFTER, BEFORE, body_of, highlighters_of, shown
from ...text.characters import citation
from ...text.highlight import Highlighter
from .bounds import Bounds

# Neighbours requested in addition to the limit, as many may be in the document itself.
DEPTH = 50
FIELDS = (
    "doc_id",
    "chunk_id",
    "heading",
    "heading_path",
    "text",
    "score",
    "path",
    "start_line",
    "end_line",
    "citation",
    "collection",
    "date",
    "metadata",
)
QUOTE = re.compile(r"^[ \t]*>[> \t]*")
DASHES = re.compile(r":?-+:?")
SIGNS = {r"[-*+] \[ \]": "☐", r"[-*+] \[[xX]\]": "☑", r"[-*+]": "•"}
UNBOUNDED = 1_000_000  # columns


@retry_once
def passages(
    store: HybridStore, bounds: Bounds, doc_id: str, lines: str | None, *, limit: int = 5
) -> dict[str, Any]:
    """Return up to `limit` passages of other documents that are most similar to the first chunk in
    these lines ("12-30" or "12"), by default the document's first chunk.

    `by` is "vector", and `score` is the cosine similarity; or, if the chunk has no embedding, `by`
    is "keyword", and `score` comes from a search for its words. Raises NotFoundError if there is no
    such document, QueryError if it has no passage in these lines.
    """
    storage = store.storage
    start, _, end = (lines or f"1-{10**9}").partition("-")
    first = int(start.partition("C")[0])
    with storage.snapshot():
        bounds.check_known(store, doc_id)
        ids = storage.chunks.at(doc_id, first, int(end or first))
        if not ids:
            where = f" in the lines {lines}" if lines else ""
            raise QueryError(f"{doc_id} has no passage{where}")
        vectors = storage.vectors()
        vector = vectors.of(ids[0])
        if vector:
            neighbours = vectors.nearest(vector, limit + DEPTH)
            rows = storage.chunks.rows([id for id, _ in neighbours])
        else:
            text = storage.chunks.rows(ids[:1])[ids[0]].text
    if vector:
        results: Sequence[Mapping[str, Any]] = [
            _result(rows[id], round(cosine, 6)) for id, cosine in neighbours
        ]
    else:
        request = Request(limit + DEPTH, "keyword", per_doc=limit, rerank=False, literal=True)
        results = store.answer(text, request).results
    others = [result for result in results if result["doc_id"] != doc_id][:limit]
    return {
        "by": "vector" if vector else "keyword",
        "results": [{field: result[field] for field in FIELDS} for result in others],
    }


def _result(row: Any, score: float) -> dict[str, Any]:
    place = citation(row.doc_id, row.start_line, row.end_line, row.pages)
    return {**row._asdict(), "score": score, "citation": place}


def add_marks(results: Sequence[dict[str, Any]], query: str, *, is_typed: bool = False) -> None:
    """Add `marks` and `excerpt` to each result, so that clients need no stemming or markdown.

    `marks` are the distinct words of the text and headings that match the query, as written there.
    `excerpt` is the best part of the text, as shown in the terminal.
    """
    texts = [f"{result['heading_path']}\n{result['text']}" for result in results]
    bodies = [body_of(result["text"]) for result in results]
    highlighters = highlighters_of(results, query, [*texts, *bodies], is_typed=is_typed)
    for result, text, body, highlighter in zip(results, texts, bodies, highlighters, strict=True):
        words = [text[span.start : span.end] for span in highlighter.spans(text)]
        result["marks"] = list(dict.fromkeys(words))
        result["excerpt"] = excerpt(body, highlighter)


def excerpt(text: str, highlighter: Highlighter) -> list[str]:
    """Return the excerpt `shown` of a body for the page: pieces of text, every second one a word of
    the query. Table cells are separated by dots; list items and tasks start with a symbol.
    """
    lines = map(_for_page, shown(text, highlighter, UNBOUNDED))
    joined = "\n".join(line for line in lines if line)
    return [piece for part in joined.split(BEFORE) for piece in part.split(AFTER)]


def _for_page(line: str) -> str:
    """Convert markdown at the start of a line to symbols; "" for the rule below a table head."""
    line = QUOTE.sub("", line)
    if line.lstrip().startswith("|"):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        return "" if all(DASHES.fullmatch(cell) for cell in cells) else " · ".join(cells)
    for sign, shown_as in SIGNS.items():
        line = re.sub(rf"^([ \t]*){sign}[ \t]+", rf"\1{shown_as} ", line)
    return line
