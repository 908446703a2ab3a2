"""The formats of search results, and the cost of an answer in each.

To add a format, write a function, add a row to FORMATS here, and its name to FORMATS in
commands/search.py, which does not import this module to parse options. On a terminal, a result
shows the best part of its passage, with its line breaks; prose is wrapped.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from io import StringIO
from itertools import groupby
from math import ceil
from shlex import quote
from typing import TYPE_CHECKING, Any, TextIO

from ..registry import EDITOR, load
from ..search.request import Budget
from ..search.result import day_of, lean
from ..storage.bm25 import stems
from ..text.analyzer import stem
from ..text.characters import clipped, columns, wrapped
from ..text.highlight import SNIPPET, Highlighter, Span, passage
from ..text.query import NO_OPERATORS, NOTHING, Query, without_operators
from ..text.roles import ROLES
from ..text.terms import SEPARATOR, plain
from .quotes import BULLET, FENCE, Result, confidence_text, lines_of, markdown
from .streams import json_line, json_lines, printable, single_line
from .terminal import Style

if TYPE_CHECKING:
    from ..store import HybridStore

NAMED = 3  # other passages of a note that are listed
MARGIN = 3  # rows of a terminal for the command, advice and the next prompt

# Placeholders of colour codes while lines are wrapped; `printable` removes them from all texts.
BEFORE = "\1"
AFTER = "\2"

_INDENT = " " * 7
_NARROWEST = 20  # columns of a passage, even on a narrower terminal
_WIDEST = 113
_DEEPEST = 24  # columns of indentation to keep when prose is wrapped
# Headings, which the heading path of the result repeats
_HEADINGS = re.compile(
    r"\A(?: {0,3}(?:#{1,6}[ \t].*|[^\W_].*\n {0,3}(?:=+|-+)[ \t]*(?=\n|\Z))\n*)+"
)
# The kind of a callout, as in syntax.js of the page
CALLOUT_KIND = r"\[!([^[\]\n|]{1,60})(?:\|[^\]\n]*)?\]"
_CALLOUT = re.compile(rf"(?m)^((?:[ \t]*>)+[ \t]*){CALLOUT_KIND}[-+]?[ \t]*")
# Comments, block names, images, the ! of an embed, and lines that are an HTML tag or a rule
_UNSEEN = re.compile(
    r"%%[^%]{1,2000}%%|<!--.{0,2000}?-->|[ \t]\^[A-Za-z0-9-]{1,80}$"
    r"|!\[\[[^\[\]\n|#]{1,300}\.\w{2,5}(?:[|#][^\[\]\n]{0,100})?\]\]|!(?=\[\[)"
    r"|^[ \t]*(?:</?[A-Za-z][^<>\n]{0,200}>|[-*_](?:[ \t]?[-*_]){2,80})[ \t]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,400})\]\([^()\s]{0,2000}\)")
# A line break inside a paragraph; two spaces before it make it a hard one
_SOFT_BREAK = re.compile(r"(?<! )[ \t]?\n(?![ \t]*(?:[-+*|]|\d{1,9}[.)])[ \t]|[ \t]*>|[ \t]{2}|\n)")
_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
# Not `2 * 3`, `*.md`, `__init__` or `a_b_c`
_EMPHASIS = re.compile(
    r"(?<![\w*\\])(\*{1,3}|==|~~)(?=[^\s*=~])([^*=]{1,400}?)(?<=[^\s*=~])\1(?![\w*])"
)
_UNDERSCORES = re.compile(r"(?<![\w_\\])(_)(?=[^\s_])([^_]{1,400}?)(?<=[^\s_])_(?![\w_])")
_CODES = re.compile(r"\033(?:\[[\d;]*m|\]8;;[^\033]*\033\\)")  # they take no columns
_PAGES = re.compile(r" \((pp?\. [\d-]+)\)\Z")


def rows_of_terminal() -> int:
    """The number of terminal rows for results."""
    return shutil.get_terminal_size().lines - MARGIN


def text(results: Sequence[Result], query: str, stream: TextIO, rows: int | None = None) -> None:
    """Print results for people: score, note and headings, place, and a passage with the query's
    words marked.

    Prints as many as fit on `rows` of the terminal, but at least one.
    """
    style = Style(stream)
    width = shutil.get_terminal_size().columns
    bodies = [body_of(result["text"]) for result in results]
    highlighters = highlighters_of(results, query, bodies)
    used = 0
    for result, body, highlighter in zip(results, bodies, highlighters, strict=True):
        lines = [*_lines_of_result(result, body, highlighter, style, width), ""]
        used += sum(max(1, ceil(columns(_CODES.sub("", line)) / max(width, 1))) for line in lines)
        if rows is not None and used > rows and result is not results[0]:
            return
        print(*lines, sep="\n", file=stream)


def body_of(text: str) -> str:
    """A passage as shown to people, without the headings above it."""
    return unmarked(_HEADINGS.sub("", text) or text)


def _lines_of_result(
    result: Result, body: str, highlighter: Highlighter, style: Style, columns: int
) -> Iterator[str]:
    width = max(_NARROWEST, min(columns - len(_INDENT), _WIDEST))
    title, headings = titles_of(result)
    note = clipped(single_line(title), width)
    below = f" > {single_line(headings)}" if headings else ""
    below = clipped(below, max(width - len(note), 2)) if below else ""
    yield f"{points(result['score'])}  {style.bold}{note}{style.off}{below}"
    yield from _place_and_origin(result, style, width)
    for line in shown(body, highlighter, width):
        coloured = line.replace(BEFORE, style.match or "[").replace(AFTER, style.off or "]")
        yield (_INDENT + coloured).rstrip()
    for remark in _notes(result):
        for line in wrapped(single_line(remark), width):
            yield f"{_INDENT}{style.dim}{line}{style.off}"


def titles_of(result: Result) -> tuple[str, str]:
    """The title of a result's note, or its name in links, and the headings above the passage that
    do not repeat it.
    """
    title = result.get("title") or stem(result["doc_id"].rpartition("/")[2])
    first, *others = result["heading_path"].split(SEPARATOR)
    if first.casefold() == title.casefold():
        return first, SEPARATOR.join(others)
    return title, result["heading_path"]


def title_of(store: "HybridStore", doc_id: str, metadata: dict[str, Any]) -> str | None:
    """The title of a document: from its metadata, else its first heading if the level is 1, else
    None.
    """
    title = metadata.get("title")
    if isinstance(title, str) and title.strip():
        return title.strip()
    titles = store.storage.links.titles(doc_id)
    return titles[0] if titles else None


def titled(store: "HybridStore", results: Sequence[Result]) -> list[Result]:
    """Add to each result the `title` of its note, if it has one."""
    titles: dict[str, str | None] = {}
    for result in results:
        if result["doc_id"] not in titles:
            titles[result["doc_id"]] = title_of(store, result["doc_id"], result["metadata"])
    return [{**result, "title": titles[result["doc_id"]]} for result in results]


def by_note(results: Iterable[Result]) -> list[Result]:
    """The best result of each note, in order; `more` has the other results of the note."""
    best: dict[str, Result] = {}
    for result in results:
        if result["doc_id"] in best:
            best[result["doc_id"]]["more"].append(result)
        else:
            best[result["doc_id"]] = {**result, "more": []}
    return list(best.values())


def highlighters_of(
    results: Sequence[Result], query: str, texts: Sequence[str], *, is_typed: bool = False
) -> list[Highlighter]:
    """A highlighter for each result: of the words of the phrasing that found it. All of them know
    all `texts`.
    """
    by_phrasing: dict[str | None, Highlighter] = {}
    for result in results:
        phrasing = result.get("phrasing")
        if phrasing not in by_phrasing:
            words = marking_query(phrasing or query, result, is_typed=is_typed and not phrasing)
            by_phrasing[phrasing] = Highlighter(words, texts, stems)
    return [by_phrasing[result.get("phrasing")] for result in results]


def marking_query(query: str, result: Result, *, is_typed: bool = False) -> Query:
    """The query whose words are marked in a result: without its operators, and with the substitutes
    for words that no passage has.
    """
    return Query(
        without_operators(query, result.get("operators", NO_OPERATORS)),
        is_typed=is_typed,
        is_literal=True,
        substitutes=result.get("instead", NOTHING),
    )


def _place_and_origin(result: Result, style: Style, width: int) -> Iterator[str]:
    """Yield the place and, on the same line if it fits, the lines, date, source and confidence."""
    place = _place(result)
    facts = [_lines_or_pages(result), result["source"], confidence_text(result)]
    if day_of(result) not in place:
        facts.insert(1, day_of(result))
    if result["role"] in ROLES:
        facts.insert(-2, f"by the {result['role']}")
    origin = ", ".join(facts)
    fits = columns(f"{place}  {origin}") <= width
    if result["path"]:
        place = style.link(result["path"], place)
    if fits:
        yield f"{_INDENT}{place}  {style.dim}{origin}{style.off}"
        return
    yield f"{_INDENT}{place}"
    for line in wrapped(origin, width):
        yield f"{_INDENT}{style.dim}{line}{style.off}"


def _lines_or_pages(result: Result) -> str:
    """The pages of a document that has pages, because readers do not see the lines of its text."""
    pages = _PAGES.search(result["citation"])
    if pages:
        return pages[1]
    return f"lines {result['start_line']}-{result['end_line']}"


def _place(result: Result) -> str:
    """`path:line`, as editors and `get` accept it, quoted for a shell.

    The path is relative if that is shorter.
    """
    path = result["path"] or result["doc_id"]
    if result["path"]:
        with suppress(OSError, ValueError):  # no working directory, or one on another drive
            path = min(path, os.path.relpath(path), key=len)
    return quote(f"{single_line(path)}:{result['start_line']}")


def _notes(result: Result) -> list[str]:
    """Additional lines of a result: its newer version, other places of its text, other passages of
    the note, and the parts of its score.
    """
    notes = [f"revised by {result['newer']}"] if result.get("newer") else []
    if result.get("gone"):
        notes.append("file is gone; `hybrid-memory update` removes it from the memory")
    notes += [f"also {place}" for place in result["also"]]
    more = result.get("more", ())
    if more:
        places = ", ".join(map(_lines_or_pages, more[:NAMED])).replace(", lines ", ", ")
        notes.append(f"{len(more)} more in this note: {places}{', …' if more[NAMED:] else ''}")
    if result.get("explain"):
        notes += _explained(result["explain"])
    return notes


def _explained(why: dict[str, Any]) -> list[str]:
    """The trace of a score as a formula, and what the confidence is made of."""
    sums_and_products = groupby(why["trace"], key=lambda step: "multiply" in step)
    formula = ", then ".join(" ".join(map(_step, steps)) for _, steps in sums_and_products)
    words = ", ".join(f"{word} {part:.2g}" for word, part in why["words"].items())
    coverage = f"coverage {why['coverage']:.2f} ({words or 'no word'})"
    if why["nearness"] is not None:
        coverage += f", nearness {why['nearness']:.2f}"
    found_by = [f"found by {why['phrasing']!r}"] if "phrasing" in why else []
    return [*found_by, formula.removeprefix("+ "), coverage]


def _step(step: Mapping[str, Any]) -> str:
    if "multiply" in step:
        return f"x {step['name']} {step['multiply']:.3f}"
    text = f"+ {step['name']} {step['add']:.3f}"
    if "weight" in step:
        strength = f", strength {step['strength']:.2f}" if step.get("strength", 1) < 1 else ""
        product = f"{step['weight']:.2f} x {step['normalised']:.3f}"
        text += f" ({product}, rank {step['rank'] or '-'}{strength})"
    return text


def shown(text: str, highlighter: Highlighter, width: int) -> Iterator[str]:
    """Yield the lines of the best part of a text, each word of the query between BEFORE and AFTER.

    Prose and lists are wrapped to `width` columns, a list with its indentation. Lines of code and
    of tables are printed whole and unchanged, however long.
    """
    spans = highlighter.spans(text)
    start, end = passage(text, spans, SNIPPET)
    lines = list(lines_of(text))
    for first, last, is_fixed in lines:
        if is_fixed and first <= start <= last:
            start = first
        if is_fixed and first <= end <= last:
            end = last
    lead = "…" if text[:start].strip() else ""
    more = "…" if text[end:].strip() else ""
    for first, last, is_fixed in lines:
        if last < start or first >= end or (is_fixed and FENCE.match(text, first)):
            continue
        line = lead + _marked(text, spans, max(first, start), min(last, end))
        lead = ""
        if last >= end:
            line += more
        if is_fixed:
            yield line
        else:
            yield from wrapped_line(line, width)


def unmarked(text: str) -> str:
    """Remove the markup that only affects the appearance of a passage: emphasis, backticks, kinds of
    callouts, targets of links, names of blocks, images, comments, rules, and line breaks inside a
    paragraph. Lines of code and of tables are unchanged.

    '> [!tip]- Use *this* `a_b_c` of [[hosts/atlas|Atlas]]' -> '> Use this a_b_c of Atlas'
    """
    parts = []
    prose: list[str] = []
    for start, end, is_fixed in lines_of(text):
        line = text[start:end]
        if is_fixed or not line.strip():
            parts += _unmarked_paragraph(prose)
            prose = []
            if is_fixed or parts[-1:] != [""]:  # the paragraph may have been only a comment
                parts.append(line)
        else:
            prose.append(line)
    return "\n".join([*parts, *_unmarked_paragraph(prose)])


def _unmarked_paragraph(lines: list[str]) -> list[str]:
    if not lines:
        return []
    text = _UNSEEN.sub("", _CALLOUT.sub(r"\1", "\n".join(lines)))
    pieces = _CODE_SPAN.split(text)
    for number in range(0, len(pieces), 3):  # backticks and code are between the pieces
        piece = _LINK.sub(r"\1", plain(pieces[number]))
        for mark in (_EMPHASIS, _UNDERSCORES, _EMPHASIS):  # **_both_**
            piece = mark.sub(r"\2", piece)
        pieces[number] = piece.replace("`", "")
    del pieces[1::3]
    text = _SOFT_BREAK.sub(" ", "".join(pieces))
    return [text] if text.strip() else []


def _marked(text: str, spans: list[Span], start: int, end: int) -> str:
    """text[start:end] on one line, with the words of the query marked."""
    parts = []
    for span in spans:
        if start <= span.start and span.end <= end:
            parts.append(_plain(text[start : span.start]))
            parts.append(f"{BEFORE}{_plain(text[span.start : span.end])}{AFTER}")
            start = span.end
    parts.append(_plain(text[start:end]))
    return "".join(parts).rstrip()


def _plain(text: str) -> str:
    return printable(text).replace("\n", " ").replace("\t", "    ")


def wrapped_line(line: str, width: int) -> Iterator[str]:
    """Wrap a line, keeping its indentation. The text of a list item stays behind its bullet."""
    bullet = BULLET.match(line)
    lead = bullet[0] if bullet else line[: len(line) - len(line.lstrip())]
    if len(lead) > min(_DEEPEST, width // 2):
        lead = ""
    indent = lead
    for part in wrapped(line[len(lead) :], width - len(lead)):
        yield indent + part
        indent = " " * len(lead)


def json(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """Print a JSON list, one result per line."""
    print(json_lines(results), file=stream)


def jsonl(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """Print one JSON object per line."""
    for result in results:
        print(json_line(result), file=stream)


def points(score: float) -> str:
    """Format the score of a result for people, never as 0."""
    return f"{score:.3f}" if score >= 0.001 else "<0.001"


def paths(results: Sequence[Result], query: str, stream: TextIO) -> None:
    """Print the paths of the files, best first, each once; for a stored text, its id.

    Programs get exact paths. On a terminal, control characters are replaced.
    """
    for path in dict.fromkeys(result["path"] or result["doc_id"] for result in results):
        print(single_line(path) if stream.isatty() else path, file=stream)


FORMATS: dict[str, Callable[[Sequence[Result], str, TextIO], None]] = {
    "text": text,
    "json": json,
    "jsonl": jsonl,
    "md": markdown,
    "paths": paths,
}


def show(
    results: Sequence[Result],
    query: str,
    form: str,
    stream: TextIO,
    *,
    full: bool = False,
    opened: int | None = None,
    rows: int | None = None,
) -> None:
    """Print the results, then open the result number `opened` in the editor.

    JSON has the lean results, unless `full`. Text takes at most `rows` of the terminal.
    """
    is_lean = form in ("json", "jsonl") and not full
    if form == "text":
        text(results, query, stream, rows)
    else:
        FORMATS[form](list(map(lean, results)) if is_lean else results, query, stream)
    if opened:
        stream.flush()
        load(EDITOR)(results, opened)


def budget(
    characters: int, form: str, query: str, *, is_terminal: bool = False, full: bool = False
) -> Budget:
    """The budget for all output in this form."""

    def printed(results: Sequence[Result]) -> int:
        paper = _MeasuringStream(is_terminal)
        show(results, query, form, paper, full=full)
        return len(paper.getvalue())

    nothing = printed([])
    return Budget(characters, lambda result: printed([result]) - nothing, nothing)


class _MeasuringStream(StringIO):
    """A stream that measures printed text."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self.isatty = lambda: is_terminal  # type: ignore[method-assign]
