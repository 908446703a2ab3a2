"""Answers as text for a language model that calls tools: short, and without commands of a shell
that it may not have.
"""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from ...search.hit import Answer as SearchAnswer
from ...surface.output import markdown
from ...sync.report import Report

NOTHING = (
    "Nothing found. Ask in other words, those that the notes would use, or with fewer filters."
)

# What a message tells a person at a shell -> what it tells an agent.
_FOR_AGENTS = (
    ("`hybrid-memory list` names all documents", "memory_list names the documents"),
    (
        r"`hybrid-memory ingest --path DIR` (?:makes one|fills it)",
        "ask the user to ingest a folder of notes, or keep a first text with memory_store",
    ),
    (r"`hybrid-memory ingest\b[^`]*` (makes|embeds)", r"the user's next ingest \1"),
    (
        "`hybrid-memory delete --doc-id [^`]*` removes it from the memory",
        "memory_update takes note of that",
    ),
    (r"`hybrid-memory update` (makes|embeds|goes|has)", r"the user's next update \1"),
    (r"`hybrid-memory ([a-z]+)[^`]*`", r"for the user: the command \1"),
    ("ingest it again to read it", "memory_update takes it in"),
)

Answer = Mapping[str, Any]


def for_agent(message: str) -> str:
    """An error or a warning on one line, with the tools to use in place of commands."""
    message = " ".join(message.split())
    for pattern, told in _FOR_AGENTS:
        message = re.sub(pattern, told, message)
    return message


def search(answer: "SearchAnswer") -> str:
    """The passages as quotes under their citations, or that there are none."""
    paper = StringIO()
    markdown(answer.results, "", paper)
    return _with_warnings([paper.getvalue().rstrip() or NOTHING], answer.warnings)


def get(answer: Answer) -> str:
    """The lines of a document under their citation. What is not shown stands last."""
    notes = (
        [f"changed since it was indexed: {answer['doc_id']}; lines cited before may have moved"]
        if answer["changed"]
        else []
    )
    notes += (
        [f"a file of {answer['host']}: this is its text as it was indexed"]
        if "host" in answer
        else []
    )
    notes += [f"to read on: {answer['next']}"] if answer["next"] else []
    head = f"**{answer['citation']}** of {answer['total_lines']} lines"
    return "\n".join([head, answer["text"], *(f"[{note}]" for note in notes)])


def listing(answer: Answer) -> str:
    """A line for each document."""
    lines = [
        " ".join(filter(None, [document["date"], document["doc_id"], _host(document)]))
        for document in answer["documents"]
    ]
    shown = len(lines)
    return "\n".join([*lines, f"[{shown} of {answer['total']} documents]"])


def _host(document: Answer) -> str:
    return f"(a file of {document['host']})" if "host" in document else ""


def stored(answer: Answer) -> str:
    """What was written."""
    return _with_warnings(
        [f"stored {answer['doc_id']}: {_passages(answer['chunks'])} can be found"],
        answer["warnings"],
    )


def deleted(answer: Answer) -> str:
    """What was removed."""
    return _with_warnings(
        [f"deleted {answer['doc_id']}: {_passages(answer['chunks_deleted'])}"], answer["warnings"]
    )


def updated(report: Report, problems: Sequence[str]) -> str:
    """What was taken in."""
    return _with_warnings(report.summary() or ["nothing has changed"], problems)


def status(answer: Answer) -> str:
    """A line for each figure."""
    lines = [
        f"{key}: {value}"
        for key, value in answer.items()
        if value is not None and key not in ("embeddings", "advice")
    ]
    identity = answer["embeddings"]
    model = f"{identity['provider']} {identity['model']}" if identity else "none yet"
    return _with_warnings(
        [*lines, f"embeddings: {model}"], [answer["advice"]] if answer["advice"] else []
    )


def _passages(count: int) -> str:
    return f"{count} passage{'' if count == 1 else 's'}"


def _with_warnings(lines: Sequence[str], warnings: Sequence[str]) -> str:
    return "\n".join([*lines, *(f"[warning: {for_agent(warning)}]" for warning in warnings)])
