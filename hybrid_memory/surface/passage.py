"""A passage as a terminal shows it: the part that answers, with its line breaks, and wrapped where it is prose."""

import re
from collections.abc import Iterator

from ..text.highlight import SNIPPET, Highlighter, Span, passage
from ..text.width import wrapped
from .printable import printable

BEFORE, AFTER = "\1", "\2"  # stand for the colour codes while lines are broken; `printable` removes them from all texts

_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_FENCES = re.compile(r"^ {0,3}(?:`{3,}|~{3,})[ \t]*(\S*)", re.MULTILINE)
_BULLET = re.compile(r"[ \t]*(?:[-+*]|\d{1,9}[.)])[ \t]+")
_DEEPEST = 24  # columns of indentation that are kept when prose is wrapped


def shown(text: str, highlighter: Highlighter, width: int) -> Iterator[str]:
    """Lines of the best part of a text, each word of the query between BEFORE and AFTER.

    Prose and lists are wrapped to `width` columns, a list with its indentation. Lines of code and of tables are whole and as
    they stand, however long.
    """
    spans = highlighter.spans(text)
    start, end = passage(text, spans, SNIPPET)
    lines = list(_lines(text))
    fixed = [(first, last) for first, last, is_fixed in lines if is_fixed]
    start = next((first for first, last in fixed if first <= start <= last), start)
    end = next((last for first, last in fixed if first <= end <= last), end)
    more = "…" if text[end:].strip() else ""
    lead = "…" if text[:start].strip() else ""
    for first, last, is_fixed in lines:
        if last < start or first >= end:
            continue
        line = lead + _marked(text, spans, max(first, start), min(last, end)) + (more if last >= end else "")
        lead = ""
        yield from [line] if is_fixed else _wrapped(line, width)


def _lines(text: str) -> Iterator[tuple[int, int, bool]]:
    """Where each line starts and ends, and whether it is code or of a table, where line breaks and spaces mean something."""
    at, fence = 0, "`" if _starts_in_code(text) else ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        is_indented = line.startswith(("    ", "\t")) and not _BULLET.match(line)
        is_fixed = bool(fence or mark) or is_indented or line.lstrip()[:1] == "|"
        if mark:
            ticks = mark[0].strip()
            fence = ticks if not fence else "" if ticks.startswith(fence) else fence
        yield at, at + len(line), is_fixed
        at += len(line) + 1


def _starts_in_code(text: str) -> bool:
    """Whether the first fence ends code that began in the passage before. One with a name, as ```bash, always begins code."""
    fences = list(_FENCES.finditer(text))
    if not fences or fences[0][1]:
        return False
    if len(fences) == 1:
        return fences[0].end() > len(text) / 2
    return len(fences) % 2 == 1 and bool(fences[1][1])


def _marked(text: str, spans: list[Span], start: int, end: int) -> str:
    """text[start:end] on one line, with its words of the query marked."""
    parts, at = [], start
    for span in spans:
        if start <= span.start and span.end <= end:
            parts += [_plain(text[at : span.start]), BEFORE, _plain(text[span.start : span.end]), AFTER]
            at = span.end
    return "".join([*parts, _plain(text[at:end])]).rstrip()


def _plain(text: str) -> str:
    return printable(text).replace("\n", " ").replace("\t", "    ")


def _wrapped(line: str, width: int) -> Iterator[str]:
    bullet = _BULLET.match(line)
    lead = bullet[0] if bullet else line[: len(line) - len(line.lstrip())]
    if len(lead) > min(_DEEPEST, width // 2):
        bullet, lead = None, ""
    for number, part in enumerate(wrapped(line[len(lead) :], width - len(lead))):
        yield (lead if number == 0 else " " * len(lead)) + part
