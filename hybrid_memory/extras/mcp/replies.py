"""Answers as text for a language model that calls tools: short, and without commands of a shell
that it may not have.
"""

import re
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from ...errors import Message
from ...search.hit import UNCLEAR, is_unclear
from ...search.hit import Answer as SearchAnswer
from ...surface.output import markdown, quoted
from ...sync.report import Report

NOTHING = (
    "Nothing found. Ask in other words, those that the notes would use, or with fewer filters."
)
UNSURE = "Nothing is clearly about this: {problem}. A lower min_confidence shows it."

# A way out by its name, as an agent takes it.
WAYS_OUT = {
    "ingest": "ask the user to ingest a folder of notes, or keep a first text with memory_store",
    "list": "memory_list names the documents",
    "update": "the user's next update {effect}",
    "forget": "memory_update takes note of that",
    "read again": "memory_update takes it in",
}
COMMAND = re.compile(r"`hybrid-memory ([a-z]+)[^`]*`")  # others are the user's

Answer = Mapping[str, Any]


def for_agent(message: str) -> str:
    """Return an error or a warning on one line, with the tools to use in place of commands."""
    if isinstance(message, Message) and message.way_out:
        way_out = WAYS_OUT[message.way_out.name].format(effect=message.way_out.effect)
        message = f"{message.problem}{way_out}"
    return COMMAND.sub(r"for the user: the command \1", " ".join(message.split()))


def search(answer: SearchAnswer) -> str:
    """Return the passages as quotes under their citations, or that there are none."""
    if answer.nearest_miss and not answer.results:
        *warnings, problem = answer.warnings
        return _with_warnings([UNSURE.format(problem=problem)], warnings)
    paper = StringIO()
    if is_unclear(answer.results):
        print(f"[{UNCLEAR}]", file=paper)
    markdown(answer.results, "", paper)
    lines = [paper.getvalue().rstrip() or NOTHING]
    if answer.instead:
        lines.append(f"[{answer.other_words()}]")
    return _with_warnings(lines, answer.warnings)


def get(answer: Answer) -> str:
    """Return the lines of a document under their citation. What is not shown stands last."""
    day = f", {answer['date']}" if answer["date"] else ""
    place = f"**{answer['citation']}** of {answer['total_lines']} lines{day}"
    lines = [place, quoted(answer["text"])]
    if answer["changed"]:
        doc_id = answer["doc_id"]
        lines.append(f"[changed since it was indexed: {doc_id}; lines cited before may have moved]")
    if "host" in answer:
        lines.append(f"[a file of {answer['host']}: this is its text as it was indexed]")
    if answer["next"]:
        lines.append(f"[to read on: {answer['next']}]")
    return "\n".join(lines)


def listing(answer: Answer) -> str:
    """Return a line for each document."""
    lines = []
    for document in answer["documents"]:
        host = f"(a file of {document['host']})" if "host" in document else None
        entry = " ".join(filter(None, [document["date"], document["doc_id"], host]))
        lines.append(quoted(" ".join(entry.splitlines())))
    count = len(lines)
    return "\n".join([*lines, f"[{count} of {answer['total']} documents]"])


def stored(doc_id: str, count: int, warnings: Sequence[str]) -> str:
    """Return what was written."""
    return _with_warnings([f"stored {doc_id}: {_passages(count)} can be found"], warnings)


def deleted(answer: Answer) -> str:
    """Return what was removed."""
    line = f"deleted {answer['doc_id']}: {_passages(answer['chunks_deleted'])}"
    return _with_warnings([line], answer["warnings"])


def updated(report: Report, problems: Sequence[str]) -> str:
    """Return what was taken in."""
    lines = report.summary() or ["nothing has changed"]
    if report.embedding_problems and report.pending and not report.summary():
        lines = [f"no file has changed; {_passages(report.pending)} pending"]
    return _with_warnings(lines, problems)


def status(answer: Answer) -> str:
    """Return a line for each figure."""
    lines = []
    for key, value in answer.items():
        if value is not None and key not in ("embeddings", "advice"):
            lines.append(f"{key}: {value}")
    identity = answer["embeddings"]
    model = f"{identity['provider']} {identity['model']}" if identity else "none yet"
    lines.append(f"embeddings: {model}")
    return _with_warnings(lines, [answer["advice"]] if answer["advice"] else [])


def _passages(count: int) -> str:
    return f"{count} passage{'' if count == 1 else 's'}"


def _with_warnings(lines: Sequence[str], warnings: Sequence[str]) -> str:
    return "\n".join([*lines, *(f"[warning: {for_agent(warning)}]" for warning in warnings)])
