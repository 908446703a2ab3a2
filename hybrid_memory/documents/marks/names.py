"""What a document is called besides its path: its titles, and the aliases in its metadata."""

import re
from collections.abc import Mapping

from ...typed.names import Any
from .links import plain
from .tags import TAG, listed

LONGEST = 240  # characters of a title or an alias
FIRST_HEADING = re.compile(r"\n {0,3}(#{1,6})[ \t]+([^\n]+)")
CLOSING_SIGNS = re.compile(r"(?:^|[ \t])#+[ \t]*$")
EMPHASIS = re.compile(r"[*_`~]{1,3}(?=\S)|(?<=\S)[*_`~]{1,3}(?=\s|$)")


def titles(metadata: Mapping[str, Any], text: str, without_code: str) -> tuple[str, ...]:
    """The `title` of the metadata, and the first heading if it is one of level 1; the text also as it is without its code."""
    found = [metadata["title"]] if isinstance(metadata.get("title"), str) else []
    heading = FIRST_HEADING.search(without_code)
    if heading and len(heading[1]) == 1:
        found.append(CLOSING_SIGNS.sub("", text[heading.start(2) : heading.end(2)]))
    plain_titles = (" ".join(EMPHASIS.sub("", TAG.sub("", plain(title))).split()) for title in found)
    return tuple(dict.fromkeys(title for title in plain_titles if 0 < len(title) <= LONGEST))


def aliases(metadata: Mapping[str, Any]) -> list[str]:
    """The values of `aliases` and `alias`. A text with commas is one alias, and its parts are some, too."""
    found = []
    for key in ("aliases", "alias"):
        value = metadata.get(key)
        for alias in listed(value):
            found += [alias, *(alias.split(",") if isinstance(value, str) else [])]
    return list(dict.fromkeys(alias for each in found if 0 < len(alias := plain(each.strip())) <= LONGEST))
