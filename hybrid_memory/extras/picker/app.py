"""The terminal picker: a line for the query, the notes found, and the selected note with the
passage marked.

Enter opens the selected notes (the file in the editor, or the text in the pager) and returns to the
picker; or it prints their citations and ends. Searches run in a thread, so that the keyboard stays
responsive. Only the newest query counts; the answer to an older one is dropped.
"""

import os
import re
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from pydoc import pager
from threading import Condition, Thread
from typing import Any, NamedTuple

from ..environment import needing, open_result

with needing("picker", "`hybrid-memory search` without a query"):
    from prompt_toolkit.application import Application, run_in_terminal
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import create_input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.layout import HSplit, Layout, Window
    from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
    from prompt_toolkit.layout.processors import BeforeInput
    from prompt_toolkit.output import ColorDepth, create_output
    from prompt_toolkit.styles import Style

from ...browse.lists import newest
from ...browse.passage import read
from ...documents.terms import listed
from ...errors import HybridMemoryError
from ...search.advice import ONLY_FILTERS
from ...search.answer import Answer, as_written, in_place, operator_lines
from ...storage.bm25 import stems
from ...storage.filters import Filters
from ...store import HybridStore
from ...surface.output import (
    AFTER,
    BEFORE,
    by_note,
    marked,
    marking_query,
    titled,
    titles_of,
    wrapped_line,
)
from ...surface.streams import harmless, printable
from ...text.analyzer import stem
from ...text.characters import citation, clipped, columns, plural
from ...text.highlight import Highlighter

# The help line, for a picker that opens notes and for one that prints citations
OPENING = "Enter opens  Tab marks  PgDn scrolls  ^F folder  ^T tag  ^R recent  ^Y copies"
PRINTING = "Enter prints  Tab marks  PgDn scrolls  ^F folder  ^T tag  ^R recent"
RECENT = ("7d", "1m", "1y")
STYLE = Style(
    [
        ("chosen", "reverse"),
        ("match", "bold ansiyellow"),
        ("dim", "ansibrightblack"),
        ("told", "ansired"),
    ]
)
ESCAPE = 0.05  # seconds to wait for the rest of an escape sequence (arrow keys send one)
PAUSE = 0.15  # seconds without a key before the query is also searched by meaning
# Seconds between switches of Python's threads; the default of 5 ms would add up to a visible delay
SWITCH = 0.001
LINES = 2000  # of a note, shown before and after the passage
ALL = 10**9
NEWEST = 50  # notes listed while the query is empty

Result = Mapping[str, Any]
# (store, query, mode) -> answer; mode None is the mode chosen by the user
Search = Callable[[HybridStore, str, str | None], Answer]


class Found(NamedTuple):
    """The answer to a query: the best result of each note."""

    query: str
    results: list[Result]
    told: str = ""  # an error message
    reading: str = ""  # how the operators of the query were read


class Preview(NamedTuple):
    """A note as screen rows; the passage is the rows `first` to `last`."""

    result: Result
    rows: list[str]
    first: int
    last: int


class Worker:
    """A thread that searches for the last query of `ask` and reads the last note of `show`.

    `opened` opens the store and is called in the thread.
    """

    def __init__(
        self,
        opened: Callable[[], HybridStore],
        search: Search,
        on_found: Callable[[Found], None],
        on_read: Callable[[Preview], None] = lambda preview: None,
    ) -> None:
        self._opened = opened
        self._search = search
        self._on_found = on_found
        self._on_read = on_read
        self._changed = Condition()
        self._query: str | None = ""
        self._wanted: tuple[Result, str, int] | None = None  # a note, the query, the columns
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Worker":
        sys.setswitchinterval(SWITCH)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ask(None)
        self._thread.join(PAUSE)  # do not wait for a model that does not answer

    def ask(self, query: str | None) -> None:
        """Replace the query; None ends the thread."""
        with self._changed:
            self._query = query
            self._changed.notify()

    def show(self, result: Result, query: str, width: int) -> None:
        """Read the note of a result and wrap it to `width` columns."""
        with self._changed:
            self._wanted = result, query, width
            self._changed.notify()

    def _run(self) -> None:
        try:
            with self._opened() as store:
                # Load the modules for searches before the first key
                self._found(store, "a", "keyword")
                answered = None
                while self._query is not None:
                    if self._is_old(store, answered, None) and self._query is not None:
                        answered = self._query
                        self._answer(store, answered)
        except HybridMemoryError as error:
            self._on_found(Found("", [], str(error)))

    def _is_old(self, store: HybridStore, query: str | None, seconds: float | None) -> bool:
        """Wait up to `seconds` for a new query (None: without limit) and return whether there is
        one. Notes are read meanwhile.
        """
        if seconds is None:
            end = None
        else:
            end = time.monotonic() + seconds
        while True:
            with self._changed:
                if end is None:
                    left = None
                else:
                    left = max(end - time.monotonic(), 0.0)
                self._changed.wait_for(lambda: self._query != query or self._wanted, left)
                if self._query != query:
                    return True
                wanted = self._wanted
                self._wanted = None
            if wanted is None:
                return False
            self._on_read(preview(store, *wanted))

    def _answer(self, store: HybridStore, query: str) -> None:
        """Search by keyword at once, and by meaning (which is slower) after a pause in typing."""
        for mode, pause in (("keyword", 0.0), (None, PAUSE)):
            if self._is_old(store, query, pause):
                return
            found = self._found(store, query, mode)
            if self._is_old(store, query, 0.0):
                return
            self._on_found(found)
            if not query.strip():
                return

    def _found(self, store: HybridStore, query: str, mode: str | None) -> Found:
        try:
            answer = self._search(store, query, mode)
            results: Sequence[Result] = answer.results
            if not query.strip() or ONLY_FILTERS in answer.warnings:
                results = newest_notes(store, answer.filters)
            reading = "; ".join(operator_lines(answer.operators))
            return Found(query, by_note(titled(store, results)), reading=reading)
        except HybridMemoryError as error:
            return Found(query, [], str(error))


def newest_notes(store: HybridStore, filters: Filters | None) -> list[Result]:
    """Return the first passages of the newest notes as results, with the `day` of the last change
    in place of a score.
    """
    chunks = store.storage.chunks
    days: dict[int, str] = {}  # by the first passage of a note
    for document in newest(store, filters, NEWEST):
        for id in chunks.at(document["doc_id"])[:1]:
            days[id] = document["modified"][:10]
    rows = chunks.rows(days)
    results: list[Result] = []
    for id, day in days.items():
        row = rows[id]
        place = citation(row.doc_id, row.start_line, row.end_line, row.pages)
        results.append(row._asdict() | {"citation": place, "day": day})
    return results


def preview(store: HybridStore, result: Result, query: str, width: int) -> Preview:
    """Read the note of a result from its current file, wrap it to `width` columns, and mark the
    words of the query in the passage. If the note cannot be read, return the passage alone.
    """
    start, end = result["start_line"], result["end_line"]
    first_line = max(start - LINES, 1)
    try:
        target = f"{result['doc_id']}#L{first_line}-L{end + LINES}"
        text = read(store, target, max_lines=ALL, max_chars=ALL)["text"]
    except HybridMemoryError:
        text = result["text"]
        first_line = start
        end = start + text.count("\n")
    lines = text.split("\n")
    passage = "\n".join(lines[start - first_line : end + 1 - first_line])
    spans = Highlighter(marking_query(query, result, is_typed=True), [passage], stems).spans(
        passage
    )
    shown = marked(passage, spans).split("\n")
    rows: list[str] = []
    first = 0
    last = 0
    for number, line in enumerate(lines, first_line):
        if number == start:
            first = len(rows)
        is_of_passage = start <= number <= end
        if is_of_passage:
            written = shown[number - start]
        else:
            written = printable(line).replace("\t", "    ")
        rows += wrapped_line(written, width)
        if is_of_passage:
            last = len(rows) - 1
    return Preview(result, rows, first, last)


def pick(
    opened: Callable[[], HybridStore], search: Search, query: str = "", *, prints: bool = False
) -> list[Result]:
    """Run the picker. Picked notes are opened, or returned if `prints` is true."""
    return _Picker(opened, search, query, prints=prints).run()


class _Picker:
    def __init__(
        self, opened: Callable[[], HybridStore], search: Search, query: str, *, prints: bool
    ) -> None:
        self._opened = opened
        self._prints = prints
        self._found = Found("", [])
        self._chosen = 0
        self._picked: dict[str, Result] = {}  # by citation
        self._preview: Preview | None = None
        self._scrolled = 0  # rows of the note above the visible ones
        self._told = ""
        self._worker = Worker(opened, search, self._show, self._take_preview)
        self._query = Buffer(multiline=False, on_text_changed=lambda buffer: self._ask(buffer.text))
        results = Window(
            FormattedTextControl(self._results), height=self._list_height, always_hide_cursor=True
        )
        layout = HSplit(
            [
                Window(BufferControl(self._query, input_processors=[BeforeInput("> ")]), height=1),
                results,
                Window(FormattedTextControl(self._rule), height=1),
                Window(FormattedTextControl(self._note), wrap_lines=False),
                Window(FormattedTextControl(self._last_line), height=1),
            ]
        )
        self._app: Application[list[Result]] = Application(
            Layout(layout),
            key_bindings=self._bindings(),
            style=STYLE,
            full_screen=True,
            color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
            input=create_input(always_prefer_tty=True),
            output=create_output(always_prefer_tty=True),  # standard output may be a pipe: $(...)
        )
        self._app.ttimeoutlen = ESCAPE
        self._app.timeoutlen = ESCAPE
        self._query.document = Document(query)

    def run(self) -> list[Result]:
        with self._worker:
            return self._app.run()

    def _size(self) -> tuple[int, int]:
        size = self._app.output.get_size()
        return size.rows, size.columns

    def _list_height(self) -> int:
        """The height of the list: as many rows as it needs, at most half of the screen."""
        room = self._size()[0] - 3  # minus the query, the rule and the last line
        return max(1, min(room // 2, len(self._found.results)))

    def _note_height(self) -> int:
        return max(1, self._size()[0] - 3 - self._list_height())

    def _ask(self, query: str) -> None:
        self._told = ""
        self._worker.ask(query)

    def _show(self, found: Found) -> None:
        """Show an answer. Called in the worker's thread."""
        is_new = found.query != self._found.query
        self._found = found
        self._choose(0 if is_new else self._chosen)
        self._app.invalidate()

    def _take_preview(self, preview: Preview) -> None:
        """Show a note, scrolled to its passage, or to the first marked word of a long passage. Keep
        the scroll position if the passage is the same. Called in the worker's thread.
        """
        before = self._preview
        self._preview = preview
        if before and before.result["chunk_id"] == preview.result["chunk_id"]:
            self._app.invalidate()
            return
        height = self._note_height()
        row = preview.first
        words = [number for number, text in enumerate(preview.rows) if BEFORE in text]
        if words and words[0] - preview.first > height // 2:
            row = words[0]
        self._scrolled = max(row - height // 3, 0)
        self._app.invalidate()

    def _choose(self, number: int) -> None:
        self._chosen = max(min(number, len(self._found.results) - 1), 0)
        result = self._result()
        if result:
            self._worker.show(result, self._found.query, max(self._size()[1] - 2, 10))

    def _is_old(self) -> bool:
        """Whether the results belong to an earlier query."""
        return self._query.text.strip() != self._found.query.strip()

    def _result(self) -> Result | None:
        results = self._found.results
        if results:
            return results[self._chosen]
        return None

    def _results(self) -> StyleAndTextTuples:
        width = self._size()[1]
        lines: StyleAndTextTuples = []
        first = max(0, self._chosen - self._list_height() + 1)
        for number, result in enumerate(self._found.results[first:], first):
            title, headings = titles_of(result)
            name_of_file = stem(result["doc_id"].rpartition("/")[2])
            more = ""
            if name_of_file != title:
                more = f"  {clipped(harmless(name_of_file), width // 3)}"
            more += f"  +{len(result['more'])}" if result["more"] else ""
            sign = " "
            if result["citation"] in self._picked:
                sign = "*"
            score = result.get("day") or f"{result['score']:.2f}"
            start = f"{sign}{score}  "
            room = max(width - columns(start + more) - 1, 2)
            name = clipped(harmless(title), room)
            below = ""
            if headings:
                below = f" > {harmless(headings)}"
            if below:
                below = clipped(below, max(room - columns(name), 2))
            else:
                below = ""
            gap = " " * max(width - columns(start + name + below + more), 0)
            style = ""
            if number == self._chosen:
                style = "class:chosen"
            if self._is_old():
                style = "class:dim"
            lines += [(style, start + name), (style or "class:dim", f"{below}{gap}{more}")]
            lines.append(("", "\n"))
        return lines[:-1]

    def _rule(self) -> StyleAndTextTuples:
        """The line above the note: its citation, and the number of the result."""
        width = self._size()[1]
        result = self._result()
        if result is None:
            return [("class:dim", "─" * width)]
        number = f" {self._chosen + 1}/{len(self._found.results)} "
        place = clipped(harmless(result["citation"]), max(width - len(number) - 6, 2))
        rest = "─" * max(width - columns(place) - len(number) - 6, 0)
        return [("class:dim", "── "), ("", place), ("class:dim", f" {rest}{number}──")]

    def _note(self) -> StyleAndTextTuples:
        preview = self._preview
        if preview is None or not self._found.results:
            return []
        parts: StyleAndTextTuples = []
        height = self._note_height()
        self._scrolled = max(min(self._scrolled, len(preview.rows) - height), 0)
        rows = preview.rows[self._scrolled : self._scrolled + height]
        for number, row in enumerate(rows, self._scrolled):
            is_of_passage = preview.first <= number <= preview.last
            parts.append(("class:match", "▌ ") if is_of_passage else ("", "  "))
            for at, piece in enumerate(row.replace(AFTER, BEFORE).split(BEFORE)):
                parts.append(("class:match" if at % 2 else "", piece))
            parts.append(("", "\n"))
        return parts[:-1]

    def _last_line(self) -> StyleAndTextTuples:
        told = self._found.told or self._told
        if told:
            return [("class:told" if self._found.told else "", harmless(told))]
        if self._is_old():
            return [("class:dim", "searching…")]
        results = self._found.results
        reading = self._found.reading
        if self._found.query and not results:
            return [("class:dim", harmless("; ".join(filter(None, ["nothing found", reading]))))]
        if self._picked:
            return [("class:dim", f"{plural(len(self._picked), 'note')} marked")]
        instead = {}
        if results:
            instead = results[0].get("instead", {})
        others = in_place(as_written(instead, self._found.query, results))
        told = "; ".join(filter(None, [reading, others]))
        if self._prints:
            keys = PRINTING
        else:
            keys = OPENING
        return [("class:dim", harmless(told) or keys)]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("escape", eager=True)
        @keys.add("c-c")
        @keys.add("c-g")
        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=[])

        @keys.add("enter")
        def take(event: KeyPressEvent) -> None:
            self._take()

        @keys.add("tab")
        def choose(event: KeyPressEvent) -> None:
            self._toggle()
            self._choose(self._chosen + 1)

        @keys.add("s-tab")
        def choose_upwards(event: KeyPressEvent) -> None:
            self._toggle()
            self._choose(self._chosen - 1)

        @keys.add("c-y")
        def copy(event: KeyPressEvent) -> None:
            self._copy()

        @keys.add("up")
        @keys.add("c-p")
        def up(event: KeyPressEvent) -> None:
            self._choose(self._chosen - 1)

        @keys.add("down")
        @keys.add("c-n")
        def down(event: KeyPressEvent) -> None:
            self._choose(self._chosen + 1)

        @keys.add("pageup")
        def page_up(event: KeyPressEvent) -> None:
            self._scrolled -= self._note_height() - 1

        @keys.add("pagedown")
        def page_down(event: KeyPressEvent) -> None:
            self._scrolled += self._note_height() - 1

        @keys.add("s-up")
        def row_up(event: KeyPressEvent) -> None:
            self._scrolled -= 1

        @keys.add("s-down")
        def row_down(event: KeyPressEvent) -> None:
            self._scrolled += 1

        @keys.add("c-f")
        def filter_folder(event: KeyPressEvent) -> None:
            result = self._result()
            self._filter("in", _folders(result["doc_id"]) if result else [])

        @keys.add("c-t")
        def filter_tag(event: KeyPressEvent) -> None:
            result = self._result()
            self._filter("tag", listed(result["metadata"].get("tags")) if result else [])

        @keys.add("c-r")
        def filter_days(event: KeyPressEvent) -> None:
            self._filter("modified", RECENT)

        return keys

    def _toggle(self) -> None:
        result = self._result()
        if result and self._picked.pop(result["citation"], None) is None:
            self._picked[result["citation"]] = result

    def _copy(self) -> None:
        result = self._result()
        if result:
            # The terminal itself handles OSC 52, so this also works over ssh.
            citation = b64encode(result["citation"].encode()).decode()
            self._app.output.write_raw(f"\033]52;c;{citation}\a")
            self._app.output.flush()
            self._told = f"copied {result['citation']}"

    def _filter(self, operator: str, values: Sequence[str]) -> None:
        """Set the operator in the query to the next of these values; remove it after the last."""
        query = with_next(self._query.text, operator, values)
        if query == self._query.text:
            self._told = f"this note has nothing to filter by with {operator}:"
            return
        self._query.document = Document(query)

    def _take(self) -> None:
        """Open the picked notes, or exit and return them."""
        result = self._result()
        picked = list(self._picked.values())
        if not picked and result and not self._is_old():
            picked = [result]
        if not picked:
            return
        if self._prints:
            self._app.exit(result=picked)
            return
        self._picked = {}
        run_in_terminal(lambda: self._open(picked))

    def _open(self, picked: Sequence[Result]) -> None:
        try:
            with self._opened() as store:
                for result in picked:
                    open_chosen(store, result)
        except HybridMemoryError as error:
            self._told = str(error)


def _folders(doc_id: str) -> list[str]:
    """Return the folders that contain a document, innermost first."""
    parts = doc_id.split("/")[:-1]
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def with_next(query: str, operator: str, values: Sequence[str]) -> str:
    """Return the query with the operator set to its next value, plus a space to type on; without
    the operator after the last value.

    'gpu in:a/b', 'in', ['a/b', 'a'] -> 'gpu in:a '
    """
    written = re.search(rf'(?<!\S){operator}:("[^"]*"|\S+)\s*', query)
    current = ""
    if written:
        current = written[1].strip('"')
    rest = query
    if written:
        rest = query[: written.start()] + query[written.end() :]
    candidates = list(values)
    if current in candidates:
        candidates = candidates[candidates.index(current) + 1 :]
    if not candidates:
        if written:
            return rest.rstrip()
        return query
    if " " in candidates[0]:
        value = f'"{candidates[0]}"'
    else:
        value = candidates[0]
    return f"{rest.rstrip()} {operator}:{value} ".lstrip()


def open_chosen(store: HybridStore, result: Result) -> None:
    """Open the file of a result in $VISUAL or $EDITOR. Without an editor or a file, show the text
    from the passage on in the pager.
    """
    if result["path"] and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        open_result([result], 1)
        return

    target = f"{result['doc_id']}#L{result['start_line']}-L{ALL - 1}"
    pager(printable(read(store, target, max_lines=ALL, max_chars=ALL)["text"]) + "\n")
