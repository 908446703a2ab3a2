"""The picker on the terminal: a line for the query, the results, and the passage of the chosen one.

What was picked is opened: its file in the editor, or its text in the pager. Searches run in a thread,
so that no key waits for one. Only the newest query counts; an answer to an older one is dropped.
"""

import os
import shutil
import sys
from base64 import b64encode
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any, NamedTuple

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
from prompt_toolkit.layout.processors import BeforeInput
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from ...errors import HybridMemoryError
from ...storage.keyword import stems
from ...store import HybridStore
from ...surface.output import AFTER, BEFORE, asked, shown
from ...surface.streams import harmless, printable
from ...surface.terminal import open_result
from ...text.characters import clipped, columns
from ...text.highlight import Highlighter
from ...views import read

KEYS = "Enter opens  Ctrl-Y copies the citation  Esc leaves"
STYLE = Style(
    [
        ("chosen", "reverse"),
        ("match", "bold ansiyellow"),
        ("dim", "ansibrightblack"),
        ("told", "ansired"),
    ]
)
ESCAPE = 0.05  # seconds in which the rest of a key that begins with Esc, as an arrow, has come

PAUSE = 0.15  # seconds without a key after which the meaning of the query is searched for, too
# Seconds after which Python lets another thread run; its 5 ms would add up before a key is answered
SWITCH = 0.001


# Results for a store, a query and a mode; None: the mode that the user wants.
Search = Callable[[HybridStore, str, str | None], list[dict[str, Any]]]


class Found(NamedTuple):
    """The answer to a query: results as a search gives them, each with the lines of its passage as
    a terminal shows them.
    """

    query: str
    results: list[dict[str, Any]]
    passages: list[list[str]]
    told: str = ""  # what went wrong


class Worker:
    """Searches for what `ask` was told last. `opened` gives a store, in the thread."""

    def __init__(
        self,
        opened: Callable[[], HybridStore],
        search: Search,
        on_found: Callable[[Found], None],
        width: int,
    ) -> None:
        self._opened, self._search, self._on_found, self._width = opened, search, on_found, width
        self._changed = Condition()
        self._query: str | None = ""
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Worker":
        sys.setswitchinterval(SWITCH)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ask(None)
        self._thread.join(PAUSE)  # a model that does not answer is not waited for

    def ask(self, query: str | None) -> None:
        """Search for this from now on; None ends the thread."""
        with self._changed:
            self._query = query
            self._changed.notify()

    def _run(self) -> None:
        try:
            with self._opened() as store:
                self._found(
                    store, "a", "keyword"
                )  # imports what searches need before the first key
                query: str | None = ""
                while (query := self._after(query)) is not None:
                    self._answer(store, query)
        except HybridMemoryError as error:
            self._on_found(Found("", [], [], str(error)))

    def _after(self, query: str | None) -> str | None:
        """Wait until there is another query."""
        with self._changed:
            self._changed.wait_for(lambda: self._query != query)
            return self._query

    def _is_old(self, query: str, seconds: float) -> bool:
        """Whether there is another query, after so long a wait for one."""
        with self._changed:
            return self._changed.wait_for(lambda: self._query != query, seconds)

    def _answer(self, store: HybridStore, query: str) -> None:
        """Keywords answer at once. What has the meaning of the query takes longer, and so waits for
        a pause.
        """
        for mode, pause in (("keyword", 0.0), (None, PAUSE)):
            if self._is_old(query, pause):
                return
            found = self._found(store, query, mode)
            if self._is_old(query, 0.0):
                return
            self._on_found(found)

    def _found(self, store: HybridStore, query: str, mode: str | None) -> Found:
        if not query.strip():
            return Found(query, [], [])
        try:
            results = self._search(store, query, mode)
        except HybridMemoryError as error:
            return Found(query, [], [], str(error))
        texts = [result["text"] for result in results]
        query_of_results = asked(query, results, is_typed=mode == "keyword")
        highlighter = Highlighter(query_of_results, texts, stems)
        return Found(
            query, results, [list(shown(text, highlighter, self._width)) for text in texts]
        )


Result = dict[str, Any]


def pick(opened: Callable[[], HybridStore], search: Search) -> Result | None:
    """The result that the user opens, or None."""
    return _Picker(opened, search).run()


class _Picker:
    def __init__(self, opened: Callable[[], HybridStore], search: Search) -> None:
        self._found = Found("", [], [])
        self._chosen = 0
        self._told = ""
        width = shutil.get_terminal_size().columns
        self._worker = Worker(opened, search, self._show, width - 2)
        self._query = Buffer(multiline=False, on_text_changed=lambda buffer: self._ask(buffer.text))
        results = Window(
            FormattedTextControl(self._results),
            height=lambda: min(self._room() // 2, 10),
            always_hide_cursor=True,
        )
        passage = Window(FormattedTextControl(self._passage), wrap_lines=False)
        layout = HSplit(
            [
                Window(BufferControl(self._query, input_processors=[BeforeInput("> ")]), height=1),
                results,
                Window(char="─", height=1, style="class:dim"),
                passage,
                Window(FormattedTextControl(self._last_line), height=1),
            ]
        )
        self._app: Application[Result | None] = Application(
            Layout(layout),
            key_bindings=self._bindings(),
            style=STYLE,
            full_screen=True,
            color_depth=ColorDepth.DEPTH_1_BIT if os.environ.get("NO_COLOR") else None,
        )
        self._app.ttimeoutlen = self._app.timeoutlen = ESCAPE

    def run(self) -> Result | None:
        with self._worker:
            return self._app.run()

    def _room(self) -> int:
        return self._app.output.get_size().rows - 3  # without the query, the rule and the last line

    def _ask(self, query: str) -> None:
        self._chosen, self._told = 0, ""
        self._worker.ask(query)

    def _show(self, found: Found) -> None:
        """Take an answer, from the thread of the searches."""
        self._found = found
        self._app.invalidate()

    def _is_old(self) -> bool:
        """Return whether the results are those of an earlier query."""
        return self._query.text.strip() != self._found.query.strip()

    def _result(self) -> Result | None:
        results = self._found.results
        return results[min(self._chosen, len(results) - 1)] if results else None

    def _results(self) -> StyleAndTextTuples:
        width = self._app.output.get_size().columns
        lines: StyleAndTextTuples = []
        first = max(0, self._chosen - min(self._room() // 2, 10) + 1)
        for number, result in enumerate(self._found.results[first:], first):
            place = clipped(harmless(result["citation"]), width - 8)
            heading = clipped(harmless(result["heading_path"]), max(width - columns(place) - 10, 2))
            style = "class:chosen" if number == self._chosen else ""
            if self._is_old():
                style = "class:dim"
            line = f" {result['score']:.2f}  {place}  "
            gap = " " * max(width - columns(line) - columns(heading), 0)
            lines += [(style, line), (style or "class:dim", heading + gap), ("", "\n")]
        return lines[:-1]

    def _passage(self) -> StyleAndTextTuples:
        if not self._found.passages:
            return []
        parts: StyleAndTextTuples = []
        for line in self._found.passages[min(self._chosen, len(self._found.passages) - 1)]:
            for at, piece in enumerate(line.replace(AFTER, BEFORE).split(BEFORE)):
                parts.append(("class:match" if at % 2 else "", piece))
            parts.append(("", "\n"))
        return parts

    def _last_line(self) -> StyleAndTextTuples:
        if told := self._told or self._found.told:
            return [("class:told" if self._found.told else "", harmless(told))]
        if self._is_old():
            return [("class:dim", "searching…")]
        results = self._found.results
        if self._found.query and not results:
            return [("class:dim", "nothing found")]
        instead = results[0].get("instead", {}) if results else {}
        pairs = [f"{', '.join(others)} for {word}" for word, others in instead.items()]
        return [("class:dim", harmless("; ".join(pairs)) or KEYS)]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("escape", eager=True)
        @keys.add("c-c")
        @keys.add("c-g")
        def leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        @keys.add("enter")
        def open_(event: KeyPressEvent) -> None:
            result = self._result()
            if result and not self._is_old():
                event.app.exit(result=result)

        @keys.add("c-y")
        def copy(event: KeyPressEvent) -> None:
            if result := self._result():
                # OSC 52 is for the terminal itself, so it works through ssh as well.
                event.app.output.write_raw(
                    f"\033]52;c;{b64encode(result['citation'].encode()).decode()}\a"
                )
                event.app.output.flush()
                self._told = f"copied {result['citation']}"

        @keys.add("up")
        @keys.add("c-p")
        def up(event: KeyPressEvent) -> None:
            self._chosen = max(self._chosen - 1, 0)

        @keys.add("down")
        @keys.add("c-n")
        def down(event: KeyPressEvent) -> None:
            self._chosen = max(min(self._chosen + 1, len(self._found.results) - 1), 0)

        return keys


ALL = 10**9


def open_chosen(store: HybridStore, result: dict[str, Any]) -> None:
    """Open the file of a result in $VISUAL or $EDITOR; without one, or without a file, show what it
    says from there on.
    """
    if result["path"] and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        open_result([result], 1)
        return
    from pydoc import pager

    target = f"{result['doc_id']}#L{result['start_line']}-L{ALL - 1}"
    pager(printable(read(store, target, max_lines=ALL, max_chars=ALL)["text"]) + "\n")
