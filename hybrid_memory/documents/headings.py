"""The name of a heading, and the ids that a writer gave it: attributes and anchors, which renderers
hide.
"""

import re
from collections.abc import Sequence

# The attributes of pandoc, Hugo, Docusaurus and Python-Markdown, with a colon in kramdown
_ATTRIBUTE = r"""(?:[#.][\w:.-]+|[\w:-]+=(?:"[^"{}\n]*"|'[^'{}\n]*'|[^\s"'{}]+))"""
ATTRIBUTES = re.compile(rf"(?<!\s)\s*+\{{:?\s*+({_ATTRIBUTE}(?:\s++{_ATTRIBUTE})*+)\s*+\}}\Z")
ANCHOR = re.compile(r"</?[aA](?:\s[^<>\n]*)?>")
# An element such as <ins>, <u> or <span style="…">; <version> alone is a word of the writer's
ELEMENT = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>\n]*)?>([^<>\n]*)</\1\s*>", re.IGNORECASE)
ID = re.compile(r"""(?:\A|\s)(?:#|(?:id|name)=["']?)([^\s"'/]+)""", re.IGNORECASE)


def name_of(title: str) -> str:
    """What a reader sees of the title of a heading.

    "Install {#install}" -> "Install", '<a id="x"></a>Head &amp; <u>Tail</u>' -> "Head & Tail"
    """
    name = ANCHOR.sub("", ATTRIBUTES.sub("", title))
    if "`" not in name:
        name = ELEMENT.sub(r"\2", name)
    return unescaped(name.strip()) or title


def unescaped(text: str) -> str:
    """A text with the characters that entities stand for: "a &amp; b" -> "a & b"."""
    if "&" not in text:
        return text
    from html import unescape  # with a table of 2,000 names, and most texts have none

    return unescape(text)


def ids_in(line: str) -> Sequence[str]:
    """The ids in the line of a heading: "## Install {#install}" -> ["install"]"""
    attributes = ATTRIBUTES.search(line.rstrip())
    written = [attributes[1]] if attributes else []
    return [name for text in (*written, *ANCHOR.findall(line)) for name in ID.findall(text)]
