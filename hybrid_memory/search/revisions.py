"""Declared revisions: passages whose author says that another passage replaces them.

Three forms of writing declare a revision:

- front matter: `superseded_by` or `replaced_by` in the former document, `supersedes` or `replaces`
  in the later one, or `status: superseded by NAME`;
- struck-through text with its replacement in the same line, as `Port: ~~22~~ 2222`, where another
  passage still has the former line, `Port: 22`;
- an open task of a daily note that another one, at most two weeks later, has as closed:
  `- [ ] Renew the lease`, later `- [x] Renew the lease`.

The last two revise one line, so they count only where that line has a word of the query.

On real repositories, tasks without these conditions were right in 42 of 100 marks, with them in 96.

Nothing is inferred from likeness. A comparison of sentences, which this module replaces, was right
in half of its marks or fewer on notes that it was not made with. Only front matter may name a
document that the search did not find; the other two forms compare the candidates of the search.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..text.order import OLDEST
from .hit import Hit
from .stages import matching_texts

if TYPE_CHECKING:
    from ..storage.interface import Storage
    from .state import SearchState

SUPERSEDED_BY = ("superseded_by", "replaced_by")
SUPERSEDES = ("supersedes", "replaces")
STATUS = "superseded by "

# A task that is closed later than this is often another one with the same words
DAYS_OPEN = 14
DAY_IN_NAME = r"[0-9]{4}[-_.]?[0-9]{2}[-_.]?[0-9]{2}"

# Compiled only when needed: few documents declare anything
MARKDOWN_LINK = r"\[[^\]]*\]\(<?([^()<>]+)>?\)"
UPWARDS = r"^(?:\.{1,2}/)+"


Revision = tuple[int, int]  # chunks.id of a passage, and of the one that replaces it


def with_revisions(hits: Iterable[Hit], state: "SearchState") -> list[Hit]:
    """Stage: set `newer` of each hit that another passage is declared to replace."""
    ranked = list(hits)
    lines: dict[int, set[str]] = defaultdict(set)
    declared = list(_declared(ranked, state, lines))
    if declared:
        latest = ends(declared)
        sections = state.storage.chunks.rows([*latest, *latest.values()])
        for hit in ranked:
            later = latest.get(hit.id)
            if later is None or later not in sections or hit.id not in sections:
                continue
            own, other = sections[hit.id], sections[later]
            in_one_section = (own.doc_id, own.heading_path) == (other.doc_id, other.heading_path)
            if not in_one_section and own.text != other.text:
                hit.newer = later
                hit.says_more = hit.id in lines and _says_more(hit, lines[hit.id], state)
    return ranked


def _says_more(hit: Hit, replaced: Collection[str], state: "SearchState") -> bool:
    """Whether a statement of a passage besides those that were replaced has a word of the query."""
    from ..text.declarations import statements, words

    others = [
        statement
        for statement in statements(hit.text)
        if not statement.startswith("#") and " ".join(words(statement)) not in replaced
    ]
    return bool(_asked_for(others, state))


def later_first(hits: Iterable[Hit], state: "SearchState") -> Iterable[Hit]:
    """Stage: put a passage directly before the first of those that it is declared to replace."""
    ranked = list(hits)
    by_id = {hit.id: hit for hit in ranked}
    for former in [hit for hit in ranked if hit.newer in by_id]:
        newer = by_id[former.newer]  # type: ignore[index]
        place = ranked.index(former)
        if ranked.index(newer) < place:
            continue
        ranked.remove(newer)
        ranked.insert(place, newer)
        newer.succeed(former)
    return ranked


def in_force(hits: Iterable[Hit], state: "SearchState") -> Iterator[Hit]:
    """Stage: move passages that another one is declared to replace to `superseded`, if the user wants
    only what is in force. A query such as "the first date" asks for what is not.
    """
    is_wanted = state.request.in_force and state.query.order != OLDEST
    for hit in hits:
        if is_wanted and hit.newer is not None and not hit.says_more:
            state.superseded.append(hit)
        else:
            yield hit


def ends(revisions: Iterable[Revision]) -> dict[int, int]:
    """Map each former passage to the end of its chain of revisions.

    A passage whose chain runs in a circle, or into two different ends, is left out: its latest
    version is unknown.

    [(1, 2), (2, 3)] -> {1: 3, 2: 3};  [(1, 2), (2, 1)] -> {}
    """
    following: dict[int, set[int]] = defaultdict(set)
    for former, later in revisions:
        following[former].add(later)
    latest: dict[int, int] = {}
    for former in following:
        last = _last(former, following)
        if last is not None:
            latest[former] = last
    return latest


def _last(former: int, following: Mapping[int, set[int]]) -> int | None:
    seen = {former}
    at = former
    while at in following:
        if len(following[at]) > 1:
            return None
        [at] = following[at]
        if at in seen:
            return None
        seen.add(at)
    return at


def _declared(
    hits: Sequence[Hit], state: "SearchState", lines: dict[int, set[str]]
) -> Iterator[Revision]:
    """Yield the revisions, and add to `lines` the words of each line that alone is replaced."""
    # Under filters, as under the bounds of a server, no document outside of them may be named.
    is_filtered = any(state.request.filters or ())
    yield from _by_front_matter(hits, state.storage, only_found=is_filtered)
    yield from _by_strike_through(hits, state, lines)
    yield from _by_task(hits, state, lines)


def _asked_for(texts: Collection[str], state: "SearchState") -> set[str]:
    """Those of the texts that have a word of the question, or of another phrasing."""
    return set().union(*(matching_texts(texts, phrasing.query) for phrasing in state.phrasings))


# --- front matter


def named_documents(metadata: Mapping[str, Any], keys: Iterable[str]) -> list[str]:
    """Return the documents that metadata name under one of these keys, as links name them."""
    names = []
    for key, value in metadata.items():
        if key.lower().replace("-", "_").replace(" ", "_") in keys:
            values = value if isinstance(value, list) else [value]
            names += [_name(str(name)) for name in values if name]
    return names


def successors_of(metadata: Mapping[str, Any]) -> list[str]:
    """Return the documents that replace the one with these metadata, by its own account."""
    names = named_documents(metadata, SUPERSEDED_BY)
    status = metadata.get("status")
    if isinstance(status, str) and status.lower().startswith(STATUS):
        names.append(_name(status[len(STATUS) :]))
    return names


def is_named(doc_id: str, names: Iterable[str]) -> bool:
    """Whether the path of a document ends with one of these names."""
    path = f"/{_name(doc_id).lower()}"
    return any(path.endswith(f"/{name.lower()}") for name in names)


def _name(name: str) -> str:
    """Return the name of a document without the signs of a link around it and the place in it.

    '[[plan#Costs|the plan]]' -> 'plan', '[ADR-5](adr/0005-plan.md)' -> 'adr/0005-plan'
    """
    link = re.fullmatch(MARKDOWN_LINK, name.strip())
    target = link[1] if link else name.strip().removeprefix("[[").removesuffix("]]")
    target = target.partition("|")[0].partition("#")[0].strip()
    return re.sub(UPWARDS, "", target).removesuffix(".md")


def _by_front_matter(
    hits: Sequence[Hit], storage: "Storage", *, only_found: bool
) -> Iterator[Revision]:
    declaring = storage.chunks.declaring([hit.id for hit in hits])
    if not declaring:
        return
    best: dict[str, int] = {}
    for hit in hits:
        best.setdefault(hit.doc_id, hit.id)
    successors: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        metadata = declaring.get(hit.id, {})
        for name in successors_of(metadata):
            successors[hit.doc_id].update(_only(storage.links.named(name)))
        for name in named_documents(metadata, SUPERSEDES):
            for former in _only(storage.links.named(name)):
                successors[former].add(hit.doc_id)
    for hit in hits:
        for doc_id in successors.get(hit.doc_id, set()) - {hit.doc_id}:
            later = best.get(doc_id)
            if later is None and not only_found:
                later = next(iter(storage.chunks.at(doc_id)), None)
            if later is not None:
                yield hit.id, later


def _only(doc_ids: Sequence[str]) -> Sequence[str]:
    """An ambiguous name declares nothing."""
    return doc_ids if len(doc_ids) == 1 else ()


# --- struck-through text


def _by_strike_through(
    hits: Sequence[Hit], state: "SearchState", replaced: dict[int, set[str]]
) -> Iterator[Revision]:
    if not any("~~" in hit.text for hit in hits):
        return
    from ..text.declarations import STRUCK, statements, strikes, words

    struck = {hit.id: list(strikes(hit.text)) for hit in hits if "~~" in hit.text}
    asked = _asked_for([strike.text for of_hit in struck.values() for strike in of_hit], state)
    if not asked:
        return
    dates = {hit.id: hit.candidate.date or "" for hit in hits}
    lines = {
        hit.id: [words(line) for line in statements(STRUCK.sub(" ", hit.text))] for hit in hits
    }
    for later, every_strike in struck.items():
        of_later = [strike for strike in every_strike if strike.text in asked]
        for hit in hits:
            if hit.id == later or dates[hit.id] > (dates[later] or "9999"):
                continue
            for line in lines[hit.id]:
                if any(strike.replaces(line) for strike in of_later):
                    replaced[hit.id].add(" ".join(line))
                    yield hit.id, later


# --- tasks


class Task:
    """A task of a passage with a date. `id` is a chunks.id."""

    def __init__(self, id: int, doc_id: str, date: str, *, is_closed: bool) -> None:
        self.id = id
        self.doc_id = doc_id
        self.date = date
        self.is_closed = is_closed


def _by_task(
    hits: Sequence[Hit], state: "SearchState", replaced: dict[int, set[str]]
) -> Iterator[Revision]:
    """Open tasks that were closed later, once. A task that is closed on several days, or open again
    after it was closed, recurs: closing it once says nothing of the other times.
    """
    if not any("] " in hit.text for hit in hits):
        return
    from ..text.declarations import tasks

    every_task = {hit: list(tasks(hit.text)) for hit in hits if "] " in hit.text}
    states = set(chain.from_iterable(every_task.values()))
    closed_later = {text for text, is_closed in states if is_closed and (text, False) in states}
    if not closed_later:
        return
    asked = _asked_for(closed_later, state)
    found = {
        hit: [task for task in of_hit if task[0] in asked] for hit, of_hit in every_task.items()
    }
    by_text: dict[str, list[Task]] = defaultdict(list)
    for hit, of_hit in found.items():
        for each in (hit, *hit.others):  # with the same text
            day = each.candidate.date
            if day is not None:
                for text, is_closed in of_hit:
                    by_text[text].append(Task(each.id, each.doc_id, day, is_closed=is_closed))
    for text, same in by_text.items():
        closed = [task for task in same if task.is_closed]
        opened = [task for task in same if not task.is_closed]
        if not opened or len({task.date for task in closed}) != 1:
            continue
        closing = min(closed, key=lambda task: task.id)
        if all(_is_soon_after(closing.date, task.date) for task in opened):
            for task in opened:
                if _are_of_one_journal(task.doc_id, closing.doc_id):
                    replaced[task.id].add(text)
                    yield task.id, closing.id


def _is_soon_after(later: str, earlier: str) -> bool:
    """Whether a day is after another one, by at most DAYS_OPEN."""
    try:
        days = (date.fromisoformat(later) - date.fromisoformat(earlier)).days
    except ValueError:  # a month
        return False
    return 0 < days <= DAYS_OPEN


def _are_of_one_journal(first: str, second: str) -> bool:
    """Whether the names of two documents differ in their dates alone, as those of daily notes."""
    undated = [re.sub(DAY_IN_NAME, "", doc_id.rpartition("/")[2]) for doc_id in (first, second)]
    return first != second and undated[0] == undated[1] != first.rpartition("/")[2]
