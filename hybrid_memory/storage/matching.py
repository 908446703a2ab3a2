"""How a filter matches: ids by glob, metadata by key and value, headings; and what filters leave, a
selection. Each engine asks in SQL first where that is enough.
"""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from ..errors import QueryError
from ..text.equality import anchor_key, heading_key, name_key
from ..text.terms import SEPARATOR, listed, names_in, plain
from .filters import Filters

ANCHOR = re.compile(r"[\w-]+")  # of a heading; any other text is not one
SAMPLE = 64  # chunks for estimating which share is selected
# Share of all chunks: in a larger selection, checking the hits of a search is faster than listing
# the selected chunks
BROAD = 0.15
LONGEST_GLOB = 10_000  # characters; SQLite allows 50,000 bytes


def globs_of(pattern: str | None) -> list[str]:
    """The globs of which an id must match one: the pattern, or everything below it. [] if all ids
    match.
    """
    if pattern is None or pattern == "*":
        return []
    if not pattern or pattern.endswith("*"):
        return [pattern]
    return [pattern, f"{pattern.rstrip('/')}/*"]


def check_glob(pattern: str | None) -> None:
    """Raise QueryError for a glob that is too long."""
    if pattern is not None and len(pattern) > LONGEST_GLOB:
        raise QueryError(
            f"the glob has {len(pattern):,} characters; at most {LONGEST_GLOB:,} are allowed"
        )


def like_plain(text: str) -> str | None:
    """A LIKE pattern, in lower case, for ASCII metadata with this text; None if JSON may write the
    text differently. Spaces are compared in any number.
    """
    is_plain = (
        text.isascii()
        and text.isprintable()
        and len(text) < LONGEST_GLOB
        and not set(text) & set('%_"\\')
    )
    return f"%{'%'.join(text.lower().split())}%" if is_plain else None


def keys_of(metadata: Iterable[str]) -> list[tuple[str, int]]:
    """Each key in these metadata (JSON), dotted in nested maps, with the number of metadata that
    have it, the most frequent first.
    """
    counts = Counter(key for text in metadata for key in set(_keys_in(json.loads(text))))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _keys_in(metadata: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of all values that are not maps.

    {"title": "Rack", "server": {"port": 22}, "people": [{"name": "Ann"}]} -> title, server.port,
    people.name
    """
    for key, value in metadata.items():
        items = value if isinstance(value, list) else [value]
        maps = [item for item in items if isinstance(item, dict)]
        for inner in maps:
            yield from (f"{key}.{name}" for name in _keys_in(inner))
        if len(maps) < len(items) or not items:
            yield key


def _values_at(metadata: Any, key: str) -> Iterator[Any]:
    """Yield the values under a `name_key` in metadata, and those of dotted keys in nested maps."""
    if isinstance(metadata, list):
        for item in metadata:
            yield from _values_at(item, key)
    elif isinstance(metadata, dict):
        for name, value in metadata.items():
            own = name_key(name)
            if own == key:
                yield value
            elif key.startswith(f"{own}."):
                yield from _values_at(value, key[len(own) + 1 :])


def is_below(heading_path: str, heading: str) -> bool:
    """Whether a passage with this heading path is below this heading, or below several consecutive
    ones, in any spelling. An anchor stands for its heading.

    'Meeting > Costs > Power', 'meeting > costs' -> True
    """
    wanted = [_heading_keys(part) for part in heading.split(SEPARATOR)]
    above = [_heading_keys(part) for part in heading_path.split(SEPARATOR)]
    return any(
        all(map(_is_same_heading, wanted, above[at:])) for at in range(len(above) - len(wanted) + 1)
    )


@lru_cache(1024)
def _heading_keys(heading: str) -> tuple[str, str]:
    text = plain(heading)
    return heading_key(text), anchor_key(text)


def _is_same_heading(wanted: tuple[str, str], heading: tuple[str, str]) -> bool:
    key, anchor = wanted
    return key == heading[0] or (ANCHOR.fullmatch(key) is not None and anchor == heading[1])


def wanted_values(filters: Filters) -> list[tuple[str, str]]:
    """The (key, value) pairs that the metadata must have, as written."""
    return [(key, value) for key, values in filters.where.items() for value in listed(values)]


def have_values(metadata: str, wanted: Iterable[Sequence[str]]) -> bool:
    """Whether metadata (JSON) has each of these values under its key, or in a list there, in any
    spelling. A link also matches by its words.

    `wanted` has (key, value) pairs; true matches 'true' and 3 matches '3'.
    """
    values = json.loads(metadata)
    return all(
        name_key(value)
        in (
            name_key(name)
            for found in _values_at(values, name_key(key))
            for own in listed(found)
            for name in names_in(own)
        )
        for key, value in wanted
    )


class Selected(ABC):
    """The chunks that a search may find. An engine adds the statements."""

    @cached_property
    def share(self) -> float:
        """An estimate of the share of all chunks that are selected."""
        ids = set(self._sampled(SAMPLE))
        return len(self.among(ids)) / max(len(ids), 1)

    @property
    def is_broad(self) -> bool:
        """Whether it is faster to search all chunks and keep the selected ones."""
        return self.share > BROAD

    @abstractmethod
    def among(self, ids: Collection[int]) -> set[int]:
        """The selected chunks among these."""

    @abstractmethod
    def _sampled(self, count: int) -> Iterable[int]:
        """At most `count` chunks from all over the store, selected or not."""
