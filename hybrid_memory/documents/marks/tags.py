"""Tags: those of the metadata, and those that stand in the text. All without #, case folded."""

import json
import re
from collections.abc import Iterable, Mapping

from ...typed.names import Any

# What Obsidian takes for a tag: no white space, and of the signs only _, - and /.
SIGN = r"\u2000-\u206f\u2e00-\u2e7f\u3000-\u3004\u3008-\u303f\uff00-\uff0f\uff1a-\uff20!-,.:-@\[-^`{-~\s"
TAG = re.compile(rf"#(?<=[\s,;*_~|(]#)(?<!\]\(#)([^{SIGN}]{{1,200}})")
HEADING_LINE = re.compile(r"\n {0,3}#{1,6}[ \t][^\n]*")


def in_text(text: str) -> list[str]:
    """The tags of a text without code and links, which begins with a line break. '#123' is no tag."""
    if "#" not in text:
        return []
    found = (tag[1].strip("/") for tag in TAG.finditer(HEADING_LINE.sub("\n", text)))
    return list(dict.fromkeys(tag.casefold() for tag in found if tag and not tag.isdigit()))


def in_metadata(metadata: str) -> list[str]:
    """The tags in metadata (JSON), in a list or in words under `tags` or `tag`.

    '{"tags": "ops, Infra/GPU"}' -> ['ops', 'infra/gpu']
    """
    return [tag for name in _names_of(json.loads(metadata)) if (tag := bare(name))]


def all_of(metadata: str, of_text: Iterable[str]) -> set[str]:
    """What a filter on tags is compared with: also the single words of a tag that has several."""
    return {tag for name in (*in_metadata(metadata), *of_text) for own in (name, *name.split()) if (tag := bare(own))}


def bare(tag: str) -> str:
    """' #Ops' -> 'ops'"""
    return tag.strip().lstrip("#").casefold()


def above(tag: str) -> list[str]:
    """The tag and those that it is nested in: 'a/b/c' -> ['a/b/c', 'a/b', 'a']"""
    parts = tag.split("/")
    return ["/".join(parts[:count]) for count in range(len(parts), 0, -1)]


def listed(value: Any) -> list[str]:
    """A value of metadata as a list of texts; true is 'true' and 3 is '3'."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [each if isinstance(each, str) else json.dumps(each) for each in values]


def _names_of(values: Mapping[str, Any]) -> list[str]:
    return [name for key in ("tags", "tag") for value in listed(values.get(key)) for name in value.split(",")]
