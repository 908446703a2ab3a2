"""The passages of a memory that are relevant to a prompt."""

from collections.abc import Callable, Sequence
from io import StringIO

from ...search.advice import unread_time_line
from ...search.request import Budget, request_of
from ...search.result import Result
from ...storage.filters import Filters
from ...store import HybridStore
from ...surface.quotes import markdown
from ...text.query import Query
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
    warn: Callable[[str], None] = lambda line: None,
) -> list[Result]:
    """Return the passages that are relevant to a prompt, best first; none if their relevance is
    below the floor.

    Passages already shown in the session are left out; they neither use up the budget nor count for
    the relevance. Low-confidence passages are dropped. `warn` gets the line about a time that was not
    understood, which counts towards `characters`; or, if only passages shown before are relevant, a
    line that names the best, by which a transcript tells that the memory answers the prompt.
    """
    prompt = words_of_user(prompt)
    if not is_question_for_memory(prompt):
        explain("the prompt is a command, too short, or not the user's")
        return []
    reading = read(prompt, store)
    explain(f"searched for: {reading.query}")
    if not reading.query:
        return []

    unread = unread_time_line(Query(reading.query, is_literal=True))
    heading = len(HEADING) + 1 + (len(printed_warning(unread)) if unread else 0)

    def cost(result: Result) -> int:
        if session.was_shown(result):
            return 0
        return len(printed([result]))

    defaults = request_of({"limit": LIMIT, "mode": "hybrid"}, store.config, filters=filters)
    request = defaults._replace(
        min_confidence=max(LEAST_CONFIDENCE, defaults.min_confidence),
        budget=Budget(characters, cost, heading),
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
    shown = [result for result in results if session.was_shown(result)]
    new = [result for result in results if not session.was_shown(result)]
    relevance = relevance_of(reading, new) if new else 0.0
    explain(f"the new passages have a relevance of {relevance:.2f}; the floor is {floor:g}")
    if relevance >= floor:
        if unread:
            warn(unread)
        return new
    if shown and relevance_of(reading, shown) >= floor:
        explain("the matching passages were shown before")
        warn(f"shown before in this session: {shown[0]['citation']}")
    return []


def printed_warning(line: str) -> str:
    """Return a line to print above the passages. It begins like a citation, so that it is removed
    from transcripts with them; see formats/inserted.py.
    """
    return f"**Note:** {line}\n\n"


def printed(results: Sequence[Result]) -> str:
    """Return the passages as markdown quotes, in the format of `search`."""
    paper = StringIO()
    markdown(results, "", paper)
    return paper.getvalue()
