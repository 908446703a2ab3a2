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
    name = title
    if name.endswith("}"):
        name = ATTRIBUTES.sub("", name)
    if "<" in name:
        name = ANCHOR.sub("", name)
        name = (name if "`" in name else ELEMENT.sub(r"\2", name)).strip()
    return unescaped(name) or title


def unescaped(text: str) -> str:
    """A text with the characters that entities stand for: "a &amp; b" -> "a & b"."""
    if "&" not in text:
        return text
    from html import unescape  # with a large table

    return unescape(text)


def without_attributes(line: str) -> str:
    """The line of a heading without its attributes at the end."""
    return ATTRIBUTES.sub("", line.rstrip()) if line.rstrip().endswith("}") else line


def ids_in(line: str) -> Sequence[str]:
    """The ids in the line of a heading: "## Install {#install}" -> ["install"]"""
    attributes = ATTRIBUTES.search(line.rstrip())
    written = [attributes[1]] if attributes else []
    return [name for text in (*written, *ANCHOR.findall(line)) for name in ID.findall(text)]
