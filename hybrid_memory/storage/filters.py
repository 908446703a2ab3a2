"""Which documents a search or a list is about."""

import json
from collections.abc import Iterable, Mapping, Sequence
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
    return have_tags(metadata, plain_tags([tag]))


def plain_tags(tags: Sequence[str]) -> list[str]:
    """Tags as `have_tags` compares them."""
    return [_bare(tag) for tag in tags]


def have_tags(metadata: str, wanted: Sequence[str]) -> bool:
    """`has_tag` for several tags, which `plain_tags` gave."""
    listed = _plain_list(metadata)
    unseen = [tag for tag in wanted if set(tag) & set(',"\\') or f'"{tag}"' not in listed]
    if not (unseen and all(wanted)):
        return all(wanted)
    values = json.loads(metadata)
    return all(_is_tag_of(values, tag) for tag in unseen)


def _plain_list(metadata: str) -> str:
    """The list under `tags` as it is written, without parsing all of the metadata; "" where that needs a closer look."""
    _, _, rest = metadata.partition('"tags": [')  # in a text, JSON would have written \\" for the quotes
    listed, end, _ = rest.partition("]")
    return listed if end and "[" not in listed and metadata.count("{") == 1 else ""


def _is_tag_of(values: Mapping[str, Any], tag: str) -> bool:
    tags = [own for name in _names_of(values) for own in (name, *name.split())]  # 'two words' are a tag, or two
    return any(f"{_bare(own)}/".startswith(f"{tag}/") for own in tags)


def tags_of(metadata: str) -> list[str]:
    """The tags in metadata (JSON), without '#' and in lower case.

    '{"tags": "ops, Infra/GPU"}' -> ['ops', 'infra/gpu']
    """
    return [_bare(name) for name in _names_of(json.loads(metadata))]


def _names_of(values: Mapping[str, Any]) -> list[str]:
    return [name for key in ("tags", "tag") for value in _listed(values.get(key)) for name in value.split(",")]


def _bare(tag: str) -> str:
    return tag.strip().lstrip("#").casefold()


def has_value(metadata: str, key: str, value: str) -> bool:
    """Whether metadata (JSON) has this value under the key, or in a list there. Case is ignored; true is 'true' and 3 is '3'."""
    return have_values(metadata, [(key, value)])


def have_values(metadata: str, wanted: Iterable[Sequence[str]]) -> bool:
    """`has_value` for several keys and values."""
    values = json.loads(metadata)
    return all(value.casefold() in (own.casefold() for own in _listed(values.get(key))) for key, value in wanted)


def _listed(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [each if isinstance(each, str) else json.dumps(each) for each in values]
