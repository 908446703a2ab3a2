"""Read the metadata of a note in any of its forms: front matter in YAML, TOML or JSON, pandoc's title
block, the properties below the title in an export of Notion, and the block at the end of a note in an
export of Joplin. Joplin's files without a note have no text.

Keys are converted to lower case, and null values are left out, as in YAML. A block that cannot be read
is reported, and is text.
"""

import json
import re
from collections.abc import Mapping
from datetime import date, time
from math import isfinite
from typing import Any

from ..text.characters import with_plain_newlines
from .front_matter import (
    MAX_METADATA,
    NOTHING,
    FrontMatter,
    front_matter,
    tag_names,
    value_of,
)

# Front matter of Hugo and Zola
TOML = re.compile(r"\+\+\+[^\S\n]*\n(.*?\n|)\+\+\+[^\S\n]*(?=\n|\Z)", re.DOTALL)
TOML_KEY = re.compile(r"\+\+\+[^\S\n]*\n\s*[\w.-]+ *=")
JSON = re.compile(r'\{\s*"')
# pandoc's extension pandoc_title_block: up to three fields, whose further lines are indented
TITLE_KEYS = ("title", "author", "date")
FIELD = re.compile(r"%([^\n]*(?:\n[ \t]+\S[^\n]*)*)(?:\n|\Z)")
PROPERTY = r"[^\W\d_][^:\n]{0,40}: [^\n]*\S[^\n]*\n"
PROPERTIES = re.compile(rf"# [^\n]+\n\s*\n((?:{PROPERTY}){{2,}})(?:\n|\Z)")
AT_END = re.compile(r"(?:\n\n|\A)(id: [0-9a-f]{32}\n(?:[a-z_]+:[^\n]*\n)+type_: (\d+))\s*\Z")
NOTE = "1"  # other types are folders, tags, attachments, and the earlier versions of notes
JOPLIN_ITEM = "Joplin item"  # the rule that leaves them out
# The keys that tell something to the reader of a note of Joplin, each with its name here
KEYS_OF_JOPLIN = {
    "created_time": "created",
    "updated_time": "updated",
    "author": "author",
    "source_url": "source_url",
    "todo_due": "due",
}


def metadata_of(text: str) -> FrontMatter:
    """Read the metadata of a text.

    '+++\\ntags = ["a"]\\n+++\\nText' -> {"tags": ["a"]}, 3 lines
    """
    text = with_plain_newlines(text)
    match text[:1]:
        case "-":
            return front_matter(text)
        case "+":
            return _toml(text)
        case "{":
            return _json(text)
        case "%":
            return _title_block(text)
        case "#" if properties := PROPERTIES.match(text):
            return FrontMatter(_pairs(properties[1]), 0)
    return _at_end(text)


def _toml(text: str) -> FrontMatter:
    import tomllib  # few notes have it

    block = TOML.match(text)
    if not block:
        is_open = TOML_KEY.match(text)
        return _text("line 1: no line +++ closes the front matter") if is_open else NOTHING
    try:
        return _checked(tomllib.loads(block[1]), text, block.end())
    except (ValueError, RecursionError) as error:  # its message counts lines from the block
        return _text(f"line 1: the front matter is not TOML: {error}")


def _json(text: str) -> FrontMatter:
    """Read an object at the beginning. A text that is nothing else has no metadata."""
    if not JSON.match(text):
        return NOTHING
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError) as error:
        return _text(f"line 1: the front matter is not JSON: {error}")
    rest, _, body = text[end:].partition("\n")
    return NOTHING if rest.strip() or not body.strip() else _checked(value, text, end)


def _title_block(text: str) -> FrontMatter:
    found: dict[str, Any] = {}
    end = 0
    for key in TITLE_KEYS:
        field = FIELD.match(text, end)
        if not field:
            break
        end = field.end()
        if value := " ".join(field[1].split()):
            found[key] = value
    if not found or not text[end:].strip():
        return NOTHING
    return FrontMatter(found, text.count("\n", 0, end))


def _pairs(lines: str) -> dict[str, Any]:
    """The pairs of lines such as "Status: Done"."""
    found = {}
    for line in lines.splitlines():
        key, _, value = line.partition(":")
        key = key.strip().lower()
        found[key] = tag_names(value) if key == "tags" else value_of(value.strip())
    return found


def _at_end(text: str) -> FrontMatter:
    block = AT_END.search(text)
    if not block:
        return NOTHING
    if block[2] != NOTE:
        return FrontMatter({}, 0, end=0, left_out=JOPLIN_ITEM)
    pairs = dict(line.partition(": ")[::2] for line in block[1].split("\n"))
    given = {name: pairs.get(key, "") for key, name in KEYS_OF_JOPLIN.items()}
    found = {name: value for name, value in given.items() if value not in ("", "0")}
    title = text[: block.start()].strip().split("\n")[0]
    return FrontMatter({"title": title, **found}, 0, end=block.start())


def _checked(block: Mapping[str, Any], text: str, end: int) -> FrontMatter:
    """The front matter text[:end], with these values as its program wrote them."""
    lines = text.count("\n", 0, end) + 1
    if end > MAX_METADATA:
        return FrontMatter({}, lines, ("line 1: the front matter is too long; it is left out",))
    metadata = _plain(block)
    if "tags" in metadata:
        metadata["tags"] = tag_names(metadata["tags"])
    return FrontMatter(metadata, lines)


def _plain(value: Any) -> Any:
    """A value of TOML or JSON as YAML would give it."""
    if isinstance(value, dict):
        return {key.lower(): _plain(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_plain(inner) for inner in value if inner is not None]
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _text(problem: str) -> FrontMatter:
    return FrontMatter({}, 0, (f"{problem}; it is read as text",))
