"""Which documents a search or a list is about."""

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple


class Filters(NamedTuple):
    """What a document must be. Every filter that is given must hold.

    `inside` is a glob on the document's id, in which `*` also matches `/`; a folder stands for everything below it. All `tags`
    must be among the document's own. `where` has metadata by key: a value, or several values that must all be in the list.
    `since` and `until` are days (`2026-01-05`), months (`2026-01`) or ages (`7d`, `3w`, `6m`, `1y`), both ends included; a
    document dated by its month counts during the whole month, an undated one never.
    """

    collection: str | None = None
    inside: str | None = None
    tags: Sequence[str] = ()
    where: Mapping[str, str | Sequence[str]] = MappingProxyType({})
    since: str | None = None
    until: str | None = None


def has_tag(metadata: str, tag: str) -> bool:
    """Whether metadata (JSON) has the tag, in a list or in words under `tags` or `tag`. '#' and case are ignored; a/b is an a.

    '{"tags": "ops, Infra/GPU"}', '#infra' -> True
    """
    values = json.loads(metadata)
    wanted = _bare(tag)
    named = [name for key in ("tags", "tag") for value in _listed(values.get(key)) for name in value.split(",")]
    tags = [own for name in named for own in (name, *name.split())]  # 'two words' are a tag, or two
    return bool(wanted) and any(f"{_bare(own)}/".startswith(f"{wanted}/") for own in tags)


def _bare(tag: str) -> str:
    return tag.strip().lstrip("#").casefold()


def has_value(metadata: str, key: str, value: str) -> bool:
    """Whether metadata (JSON) has this value under the key, or in a list there. Case is ignored; true is 'true' and 3 is '3'."""
    return value.casefold() in (own.casefold() for own in _listed(json.loads(metadata).get(key)))


def _listed(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [each if isinstance(each, str) else json.dumps(each) for each in values]
