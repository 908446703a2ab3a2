"""Searches in a thread, so that no key waits for a search. Only the newest query counts; an answer
to an older one is dropped.
"""

import sys
from collections.abc import Callable
from threading import Condition, Thread
from typing import Any, NamedTuple

from ...errors import HybridMemoryError
from ...storage.keyword import stems
from ...store import HybridStore
from ...surface.output import asked, shown
from ...text.highlight import Highlighter

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
