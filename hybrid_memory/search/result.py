"""A result: a passage that a search found, as every surface shows it."""

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from ..text.characters import citation, page

if TYPE_CHECKING:
    from .hit import Hit


class Passage:
    """A text on lines start_line..end_line of its source, and the chunks.id of each chunk in it."""

    def __init__(
        self,
        text: str,
        start_line: int,
        end_line: int,
        chunks: Sequence[int] = (),
        role: str | None = None,
    ) -> None:
        self.text = text
        self.start_line = start_line
        self.end_line = end_line
        self.chunks = chunks
        self.role = role  # who speaks in it, see text/roles.py


class Scores(TypedDict):
    """The scores of a passage in both legs; None where a leg did not score it."""

    keyword: float | None  # BM25, raised for a document that the query names; of symbols, a share
    vector: float | None  # cosine


class OfQuery(TypedDict, total=False):
    """What every result says of the query."""

    instead: dict[str, list[str]]  # by a word that no chunk has, those in its place
    # How it was read, if a part looks like an operator: text/operators.py:Operators
    operators: Mapping[str, Any]


class Result(OfQuery):
    """A passage that a search found."""

    doc_id: str
    chunk_id: str
    heading: str  # the nearest above the passage
    heading_path: str  # all of them: "Atlas > The GPU server > Log in"
    text: str
    score: float  # 0 to 1, to be compared within one answer
    confidence: float  # 0 to 1, to be compared between answers, too
    source: str  # "keyword", "vector" or "hybrid": which half of the search found it
    path: str | None  # absolute, of the file; None for a text that has none
    start_line: int
    end_line: int
    citation: str  # "memory/2026-01-05.md#L12-L30"
    also: list[str]  # citations of the same text elsewhere, newest first
    also_dates: list[str | None]  # the date of each
    newer: str | None  # the citation of the passage that its author declared to replace this one
    collection: str | None
    date: str | None  # YYYY-MM-DD
    modified: str | None  # when its file changed, or its text was stored: 2026-01-05T10:00:00Z
    role: str | None  # of a conversation: "user", "assistant" or "both" speak in the passage
    metadata: dict[str, Any]
    scores: Scores
    page: NotRequired[int]  # where the document has pages
    gone: NotRequired[bool]  # the file no longer exists; only then
    phrasing: NotRequired[str]  # of `also`, if that found the passage and not the question
    explain: NotRequired[dict[str, Any]]  # what the score is made of; with `explain` only


def result_of(
    hit: "Hit", *, explain: bool, passage: Passage | None = None, joined: "Iterable[Hit]" = ()
) -> Result:
    """Build the result for a hit that was loaded.

    `passage` is the text to show where that is not the chunk: an excerpt, or the chunk joined with
    others. All that depends on the text follows it. `joined` are the hits in it besides this one.
    """
    row = hit.row
    assert row is not None
    shown = passage or Passage(row.text, row.start_line, row.end_line, [hit.id], row.role)
    has_revision = hit.newer in shown.chunks
    also = dict(chain(hit.also.items(), *(other.also.items() for other in joined)))
    result: Result = {
        "doc_id": row.doc_id,
        "chunk_id": row.chunk_id,
        "heading": row.heading,
        "heading_path": row.heading_path,
        "text": shown.text,
        "score": rounded_score(hit.score, 6),
        "confidence": hit.confidence,
        "source": hit.source,
        "path": row.path,
        "start_line": shown.start_line,
        "end_line": shown.end_line,
        "citation": citation(row.doc_id, shown.start_line, shown.end_line, row.pages),
        "also": [*also],
        "also_dates": [*also.values()],
        "newer": None if has_revision else hit.newer_citation,
        "collection": row.collection,
        "date": row.date,
        "modified": row.modified,
        "role": shown.role,
        "metadata": row.metadata,
        "scores": {
            "keyword": _significant(hit.fused.keyword_scores, hit.id),
            "vector": _significant(hit.fused.cosines, hit.id),
        },
    }
    if row.path and _is_gone(row.path):
        result["gone"] = True
    if row.pages:
        result["page"] = page(row.pages, shown.start_line)
    if not hit.phrasing.is_question:
        result["phrasing"] = hit.phrasing.query.text
    if explain:
        result["explain"] = _rounded(_explanation(hit))
    return result


def _is_gone(path: str) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _explanation(hit: "Hit") -> dict[str, Any]:
    """Return what a hit's score and confidence are made of.

    `trace` has the steps of the score, in order: `{"name": …, "add": …}` or `{"name": …, "multiply":
    …}`. `phrasing` is the wording that found it, if that is not the question.
    """
    explanation: dict[str, Any] = {
        "trace": [step.to_json() for step in hit.trace],
        "score_before_decay": hit.score_before_decay,
        "terms": list(hit.terms),
        "coverage": hit.coverage,
        "words": dict(hit.covered.parts) if hit.covered else {},
        "nearness": hit.nearness,
    }
    if not hit.phrasing.is_question:
        explanation["phrasing"] = hit.phrasing.query.text
    return explanation


def _significant(scores: Mapping[int, float], id: int) -> float | None:
    """Round to six significant digits: BM25 in a store of a few chunks has no digits among the
    first six decimals.
    """
    return float(f"{scores[id]:.6g}") if id in scores else None


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    if isinstance(value, float):
        return round(value, 6)
    return value


# The least confidence of a match that is called so; docs/scores.md has how many of each are right.
STRONG = 0.55
SOME = 0.3


def match(confidence: float) -> str:
    """Describe a confidence in a word."""
    if confidence >= STRONG:
        return "strong"
    return "some" if confidence >= SOME else "faint"


# The least confidence of the best match in an answer that an agent should read: faint ones are left out
FLOOR = SOME
# An agent pays for each passage. Its answers end where scores fall below this share of the best, not
# where a budget is full; the benchmark `cut` measures what that loses.
AGENT_STOP = 0.4
AGENT_LIMIT = 10  # passages
AGENT_BUDGET = 6000  # characters, about 1,500 tokens; ten passages seldom have more


def rounded_score(score: float, decimals: int) -> float:
    """Round a score to so many decimals. A positive score never becomes 0: it keeps its first digit."""
    return round(score, decimals) or float(f"{score:.1g}")


PERHAPS = ("date", "modified", "also", "role", "newer", "gone", "explain", "instead")
LEAN = ("doc_id", "chunk_id", "heading", "text", "score", "confidence", "source", "citation")


def lean(result: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce a result to what an agent needs, because it pays for each character: the keys of LEAN, and
    those of PERHAPS that have a value. `modified` is the day of a passage without a date.
    """
    fields = {key: result[key] for key in LEAN}
    fields["score"] = rounded_score(fields["score"], 3)
    for key in PERHAPS:
        if result.get(key) and not (key == "modified" and result["date"]):
            fields[key] = result[key]
    return fields


def day_of(result: Mapping[str, Any]) -> str:
    """The day of a passage for people: its date, else "file of 2026-10-14", when its file changed."""
    if result["date"] or not result["modified"]:
        return result["date"] or ""
    return f"file of {result['modified'][:10]}"


MOST_ALSO = 3  # places of the same text in a line


def also_in(result: Mapping[str, Any]) -> str:
    """Where else the same text is: "also on 2024-01-10, in a.md#L3, and 2 more"; "" if nowhere."""
    places = [
        f"on {day}" if day else f"in {place}"
        for place, day in zip(result["also"], result["also_dates"], strict=True)
    ]
    listed = list(dict.fromkeys(places))
    more = len(listed) - MOST_ALSO
    if more > 0:
        listed[MOST_ALSO:] = [f"and {more} more"]
    return f"also {', '.join(listed)}" if listed else ""
