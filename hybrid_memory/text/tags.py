"""Tags: those of metadata, and the keys by which they are compared."""

import json
from collections.abc import Iterable

from .equality import name_key
from .terms import listed


def tags_in_metadata(metadata: str) -> list[str]:
    """The tags in metadata (JSON): a list or words under `tags` or `tag`.

    '{"tags": "ops, Infra/GPU"}' -> ['ops', 'infra/gpu']
    """
    values = json.loads(metadata)
    texts = listed(values.get("tags")) + listed(values.get("tag"))
    tags = [normal_tag(name) for text in texts for name in text.split(",")]
    return [tag for tag in tags if tag]


def filterable_tags(metadata: str, of_text: Iterable[str]) -> set[str]:
    """The tags that match a filter: also the single words of a tag of the metadata that has several."""
    tags = {normal_tag(name) for name in of_text}
    for name in tags_in_metadata(metadata):
        tags.update(map(normal_tag, (name, *name.split())))
    return tags - {""}


def normal_tag(tag: str) -> str:
    """Normalize a tag for comparison: ' #Ops' -> 'ops'"""
    return name_key(tag.strip().lstrip("#"))


def above(tag: str) -> list[str]:
    """A tag and the tags above it: 'a/b/c' -> ['a/b/c', 'a/b', 'a']"""
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]
