"""The passages of a memory that are relevant to a prompt."""

from collections.abc import Callable, Sequence
from io import StringIO

from ...search.request import Budget, request_of
from ...search.result import Result
from ...storage.filters import Filters
from ...store import HybridStore
from ...surface.quotes import markdown
from ..formats.inserted import HEADING, words_of_user
from .prompts import CHARACTERS, FLOOR, is_question_for_memory, read, relevance_of
from .state import RecallSession

LEAST_CONFIDENCE = 0.04  # of a passage that is printed with others
LIMIT = 16  # passages that compete for the budget; about five fit


def recalled(
    store: HybridStore,
    prompt: str,
    session: RecallSession,
    *,
    characters: int = CHARACTERS,
    floor: float = FLOOR,
    filters: Filters | None = None,
    explain: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """Return the passages that are relevant to a prompt, best first; none if their relevance is
    below the floor.

    Passages already shown in the session are left out; they neither use up the budget nor count for
    the relevance. Low-confidence passages are dropped.
    """
    prompt = words_of_user(prompt)
    if not is_question_for_memory(prompt):
        explain("the prompt is a command, too short, or not the user's")
        return []
    reading = read(prompt, store)
    explain(f"searched for: {reading.query}")
    if not reading.query:
        return []

    def cost(result: Result) -> int:
        if session.was_shown(result):
            return 0
        return len(printed([result]))

    defaults = request_of({"limit": LIMIT, "mode": "hybrid"}, store.config, filters=filters)
    request = defaults._replace(
        min_confidence=max(LEAST_CONFIDENCE, defaults.min_confidence),
        budget=Budget(characters, cost, len(HEADING) + 1),
        explain=True,
        in_force=True,
        rerank=False,
        literal=True,
    )
    answer = store.answer(reading.query, request)
    results = answer.results
    if answer.more:
        explain(answer.more)
    if not results:
        explain(answer.warnings[-1] if answer.nearest_miss else "no passage has enough confidence")
        return []
    new = [result for result in results if not session.was_shown(result)]
    if not new:
        explain("all matching passages were shown before")
        return []
    relevance = relevance_of(reading, new)
    explain(f"the passages have a relevance of {relevance:.2f}; the floor is {floor:g}")
    if relevance < floor:
        return []
    return new


def printed(results: Sequence[Result]) -> str:
    """Return the passages as markdown quotes, in the format of `search`."""
    paper = StringIO()
    markdown(results, "", paper)
    return paper.getvalue()
