"""Everything that a markdown text says of itself and of others, found in one reading."""

from collections.abc import Mapping

from ...typed.names import Any, NamedTuple
from .links import Link, found_in, without_links


class Marks(NamedTuple):
    """What a text says of itself and of others; `tags` are those that stand in the text."""

    titles: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()


NONE = Marks()


def marks(text: str, skipped: int, metadata: Mapping[str, Any]) -> Marks:
    """The marks of a text with plain newlines, whose first `skipped` lines are front matter, which may have links."""
    from ..cutting.noise import readable  # imports like these are not for every refresh to pay
    from . import names, tags
    from .code import without_code

    lines = text.split("\n", skipped)
    matter = "\n" + "\n".join(lines[:skipped])
    body = readable("\n" + lines[-1] if len(lines) > skipped else "\n")
    bare = without_code(body)
    found = found_in(matter, 1) + found_in(bare, skipped + 1)
    return Marks(names.titles(metadata, body, bare), tuple(found), tuple(tags.in_text(without_links(bare))))
