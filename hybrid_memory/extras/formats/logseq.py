"""Read the pages of a Logseq graph: an outline of bullets whose headings, properties and file names
follow Logseq's own rules (docs.logseq.com, and the comments in `logseq/config.edn`).

A line `key:: value` is metadata, not text: of the page, or of a block. A bullet `- # Title` is a
heading; its section ends at a bullet that is indented less. The name of a page, in which `/`
separates namespaces, is its `title::`, the day of a journal, or the decoded file name.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import unquote

from ...documents.files import read
from ...documents.front_matter import MAX_METADATA
from ...documents.links import document_links
from ...documents.markdown import Markdown, MarkdownReading, Parsed
from ...documents.noise import LEFT_OUT
from ...documents.structure import Block, Heading, Structure, is_in, outline_structure
from ...text.characters import text_of_bytes
from ...text.languages import full_names
from ...text.links import DocumentLinks

CONFIG = os.path.join("logseq", "config.edn")

PROPERTY = re.compile(
    r"\n[ \t]*+(?:[-*][ \t]++)?(?P<key>[A-Za-z][\w./?-]{0,60})::(?:[ \t]++(?P<value>[^\n]*))?(?=\n|\Z)"
)
# Properties of Logseq itself, unrelated to the subject
TECHNICAL = re.compile(
    r"id|collapsed|heading|icon|public|filters?|template(?:-including-parent)?|file(?:-path)?|background-.*"
    r"|(?:created|updated)-at|(?:hl|ls|card|query|logseq|exclude)[-.].*"
)
# A reference to a block, which Logseq shows as the block's text: "((uuid))", "[words](((uuid)))"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
BLOCK_REFERENCE = re.compile(rf"\[([^\[\]\n]{{1,200}})\]\(\(\({_UUID}\)\)\)|\(\({_UUID}\)\)")
MACRO = re.compile(
    rf"{{{{(?:embed[ \t]+{LEFT_OUT}|(?:query|renderer)\b[^{{}}\n]{{0,1000}})[ \t]*}}}}"
)
# Drawers, clock lines, and bullets without words ("[:span]" is a picture cut out of a PDF)
NOISE = re.compile(
    rf"\n[ \t]*+(?:(?:[-*](?:[ \t]++#{{1,6}})?)?[ \t]*+(?:(?:{LEFT_OUT}|\[:span\])[ \t.]*+)*"
    r"|:(?:LOGBOOK|PROPERTIES|END):[ \t]*+|CLOCK:[^\n]*+)(?=\n|\Z)"
)
BULLET = re.compile(
    r"\n(?P<indent>[ \t]*+)(?:[-*][ \t]++(?:(?P<level>#{1,6})[ \t]++(?P<title>\S[^\n]*))?"
    r"|(?P<line_level>#{1,6})[ \t]++(?P<line_title>\S[^\n]*))"
)
LONG_TAG = re.compile(r"#\[\[([^\[\]\n]{1,200})\]\]")
LISTED = re.compile(r"(?<![ \t])[ \t]*+(?:\[\[([^\[\]]*)\]\]|([^,\s][^,]*))")

SETTING = re.compile(r'^[^;\n]*?:([\w/-]+)[ \t]+"([^"\n]*)"', re.MULTILINE)
TOKEN = re.compile(r"'([^']*)'|(yyyy|yy|MMMM|MMM|MM|M|do|dd|d|EEEE|EEE|EE|E)|([^A-Za-z']+|.)")


class Journals(NamedTuple):
    """The settings of a graph's journals: the folder, and the formats of file names and titles."""

    folder: str = "journals"
    file_format: str = "yyyy_MM_dd"
    title_format: str = "MMM do, yyyy"


def journals_of(graph: str) -> Journals:
    """The settings in a graph's config file, or Logseq's defaults."""
    config = ""
    with suppress(OSError), open(os.path.join(graph, CONFIG), "rb") as file:
        config = text_of_bytes(file.read())
    settings = dict(SETTING.findall(config))
    default = Journals()
    return Journals(
        settings.get("journals-directory", default.folder),
        settings.get("journal/file-name-format", default.file_format),
        settings.get("journal/page-title-format", default.title_format),
    )


def page_name(graph: str, path: str) -> str:
    """The name of a page by its file: 'pages/Project___Kestrel.md' -> 'Project/Kestrel',
    'journals/2026_03_14.md' -> 'Mar 14th, 2026'.
    """
    stem = os.path.splitext(os.path.basename(path))[0]
    journals = journals_of(graph)
    if os.path.basename(os.path.dirname(path)) == journals.folder:
        day = day_of(stem, journals.file_format)
        if day:
            return written(day, journals.title_format)
    return unquote(stem.replace("___", "/"))


def day_of(name: str, pattern: str) -> date | None:
    """The day in a file name of this format: '2026_03_14', 'yyyy_MM_dd' -> 14 March 2026"""
    digits = {"yyyy": r"(?P<year>\d{4})", "MM": r"(?P<month>\d\d)", "dd": r"(?P<day>\d\d)"}
    parts = []
    for quoted, token, other in TOKEN.findall(pattern):
        parts.append(digits.get(token) or re.escape(quoted or token or other))
    try:
        found = re.fullmatch("".join(parts), name)
        return date(*(int(found[key]) for key in ("year", "month", "day"))) if found else None
    except (IndexError, ValueError, re.error):
        return None


def written(day: date, pattern: str) -> str:
    """A day in this format: 'MMM do, yyyy' -> 'Mar 14th, 2026'"""
    month = full_names("months", "en")[day.month - 1]
    weekday = full_names("weekdays", "en")[day.weekday()]
    is_teen = 11 <= day.day <= 13
    ending = "th" if is_teen else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    values = {
        "yyyy": f"{day.year:04}",
        "yy": f"{day.year % 100:02}",
        "MMMM": month,
        "MMM": month[:3],
        "MM": f"{day.month:02}",
        "M": str(day.month),
        "do": f"{day.day}{ending}",
        "dd": f"{day.day:02}",
        "d": str(day.day),
        "EEEE": weekday,
        **dict.fromkeys(("EEE", "EE", "E"), weekday[:3]),
    }
    return "".join(
        values.get(token, "") or quoted or other for quoted, token, other in TOKEN.findall(pattern)
    )


def properties(text: str) -> dict[str, Any]:
    """The properties of a page and its blocks, by lower-case key. `tags` is a list, `aliases` are
    the page's, and a key with several values has a list.
    """
    found: dict[str, list[str]] = {}
    body = "\n" + text
    pos = 0
    is_page = True
    for line in PROPERTY.finditer(body):
        is_page = is_page and not body[pos : line.start()].strip(" \t\n-")
        pos = line.end()
        key = line["key"].lower()
        value = (line["value"] or "").strip()
        if not value or TECHNICAL.fullmatch(key) or pos > MAX_METADATA:
            continue
        if key in ("alias", "title") and not is_page:
            continue
        values = [value]
        if key in ("tags", "alias"):
            values = [(link or word).strip(" \t#") for link, word in LISTED.findall(value)]
        known = found.setdefault(key, [])
        known += [each for each in values if each and each not in known]
    metadata: dict[str, Any] = {}
    for key, values in found.items():
        is_list = key in ("tags", "alias") or len(values) > 1
        name = "aliases" if key == "alias" else key
        metadata[name] = values if is_list else values[0]
    return metadata


def without_properties(text: str) -> str:
    """Remove properties, drawers, references to blocks, queries and empty bullets from a text with
    a line break before each line.
    """
    text = PROPERTY.sub("\n", text)
    text = BLOCK_REFERENCE.sub(lambda reference: reference[1] or LEFT_OUT, text)
    return NOISE.sub("\n", MACRO.sub(LEFT_OUT, text))


def headings(text: str, code: Sequence[Block]) -> Iterator[Heading]:
    """Yield the headings outside code. One without a title or length ends a heading at the first
    bullet that is indented less.
    """
    open_headings: list[tuple[int, int]] = []  # indentation and level
    for line in BULLET.finditer(text):
        begin = line.start() + 1
        if is_in(code, begin):
            continue
        indent = len(line["indent"].expandtabs(4))
        ended = [level for column, level in open_headings if column > indent]
        hashes = line["level"] or line["line_level"]
        open_headings = [heading for heading in open_headings if heading[0] <= indent]
        if hashes:
            above = [level for column, level in open_headings if column < indent]
            level = max(len(hashes), *(outer + 1 for outer in above), 1)
            open_headings = [heading for heading in open_headings if heading[1] < level]
            open_headings.append((indent, level))
            yield Heading(level, (line["title"] or line["line_title"]).strip(), begin, line.end())
        elif ended:
            yield Heading(min(ended), "", begin, begin)


class Logseq(Markdown):
    """Implements `formats.Format`."""

    def __init__(self, name: str = "") -> None:
        self._name = name

    def structure(self, text: str) -> Structure:
        """As in `Markdown`."""
        found = outline_structure(without_properties(text))
        code = [block for block in found.blocks if not block.header]
        return found._replace(headings=list(headings(found.text, code)))

    def open(
        self, path: str, max_bytes: int, follow_symlinks: bool, metadata: Mapping[str, Any]
    ) -> MarkdownReading:
        page = Logseq(page_name(graph_of(path), path))
        return MarkdownReading(read(path, max_bytes, follow_symlinks), metadata, page)

    def parsed(self, text: str, metadata: Mapping[str, Any]) -> Parsed:
        markdown = super().parsed(text, {})
        own = {**markdown.metadata, **properties(markdown.text)}
        name = own.setdefault("title", self._name)
        own["aliases"] = list(dict.fromkeys([name, self._name, *own.get("aliases", [])]))
        return markdown._replace(metadata={**own, **metadata})

    def links(self, parsed: Parsed) -> DocumentLinks:
        """As in `Markdown`. `#[[several words]]` is a tag."""
        tags = [tag.strip().casefold() for tag in LONG_TAG.findall(parsed.text)]
        text = LONG_TAG.sub(lambda tag: " " * len(tag[0]), parsed.text)
        found = document_links(text, parsed.skipped, parsed.metadata, outline_structure)
        return found._replace(tags=tuple(dict.fromkeys([*found.tags, *filter(None, tags)])))


def graph_of(path: str) -> str:
    """The nearest folder above a file that is a Logseq graph."""
    folder = os.path.dirname(path)
    while not os.path.isdir(os.path.join(folder, "logseq")):
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return folder


FORMAT = Logseq()
