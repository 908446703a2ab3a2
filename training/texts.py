"""Make training texts: documents and queries from the Debian packages in sources.tsv.

A document is a chunk as the store would embed it: heading path, blank line, at most 512 characters.
A query is a short text that belongs to a document: a heading, a sentence, a word that WordNet
defines. The seed decides the order in which pages are taken.
"""

from __future__ import annotations

import gzip
import hashlib
import html.parser
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CHUNK = 512  # characters
PAGE_TEXT = (
    60_000  # characters read of one page, because a few huge pages would outweigh a whole package
)
UNWANTED_PAGE = re.compile(
    r"/(genindex|search|py-modindex|http-routingtable|_modules|changelog|changes|release_?notes|releasenotes|whatsnew|history"
    r"|print|licen[cs]e|authors|_templates|Tests|da|de|es|fr|ja|ko|pt-br|ro|ru|tr|zh-cn|zh-tw)\b",
    re.IGNORECASE,
)
SKIPPED_TAGS = {"script", "style", "nav", "footer", "form", "svg", "head", "button", "noscript"}
SKIPPED_CLASSES = {
    "sphinxsidebar", "related", "headerlink", "toctree-wrapper", "navheader", "navfooter", "toc",
    "contents", "footer",
    "wy-nav-side", "sidebar", "navbar", "breadcrumbs", "linenos", "topnav", "bottomlinks",
    "toplang", "tooltip", "bd-sidebar",
}  # fmt: skip
VOID = {
    "br",
    "img",
    "hr",
    "input",
    "meta",
    "link",
    "col",
    "area",
    "base",
    "wbr",
    "source",
    "embed",
    "param",
}
INLINE = set("a b i em strong code tt span kbd samp var sub sup small abbr cite u font".split())
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")
WORD = re.compile(r"[^\W\d_]{2,}")


class Pair(NamedTuple):
    """A query and a document that answers it; either may be alone (an empty string)."""

    query: str
    document: str


class Source(NamedTuple):
    package: str
    version: str
    sha256: str
    pages: int  # the greatest number of pages to take
    licence: str
    within: str  # pages must have this in their path


def sources() -> list[Source]:
    lines = Path(__file__).with_name("sources.tsv").read_text("utf-8").splitlines()[1:]
    return [Source(*row[:3], int(row[3]), *row[4:]) for row in (line.split("\t") for line in lines)]


def fetch(source: Source, work: Path) -> Path:
    """The folder of the unpacked package. If it is not there, the package is downloaded with
    apt-get.
    """
    folder = work / "packages" / source.package
    if not folder.exists():
        archives = work / "archives"
        archives.mkdir(parents=True, exist_ok=True)
        if not list(archives.glob(f"{source.package}_*.deb")):
            name = f"{source.package}={source.version}"
            command = ["apt-get", "download", "-q", name]
            if subprocess.run(command, cwd=archives).returncode:
                raise SystemExit(
                    f"{name} could not be downloaded; run `apt-get update` first. If Debian has "
                    f"replaced this version, put another one's archive into {archives}"
                )
        archive = next(archives.glob(f"{source.package}_*.deb"))
        if hashlib.sha256(archive.read_bytes()).hexdigest() != source.sha256:
            print(
                f"warning: {archive.name} is not the archive named in sources.tsv; the result will differ"
            )
        partial = folder.with_name(
            f"{source.package}.part"
        )  # so that an interrupted download is not taken for the whole package
        partial.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "-x", archive, partial], check=True)
        partial.rename(folder)
    return folder


class Page(html.parser.HTMLParser):
    """Turns HTML into a list of (heading path, paragraph)."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.paragraphs: list[tuple[tuple[str, ...], str]] = []
        self._path: list[tuple[int, str]] = []
        self._text: list[str] = []
        self._skipping = ""
        self._depth = 0
        self._heading = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipping:
            self._depth += tag == self._skipping
            return
        if tag in VOID:
            self._text.append(" ")
        elif tag in SKIPPED_TAGS or SKIPPED_CLASSES & set((dict(attrs).get("class") or "").split()):
            self._skipping, self._depth = tag, 1
        elif tag not in INLINE:
            self._flush()
            self._heading = int(tag[1]) if re.fullmatch("h[1-6]", tag) else self._heading

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            self._depth -= tag == self._skipping
            self._skipping = self._skipping if self._depth else ""
        elif tag not in INLINE:
            self._flush()
            self._heading = 0 if re.fullmatch("h[1-6]", tag) else self._heading

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._text.append(data)

    def _flush(self) -> None:
        text = " ".join("".join(self._text).replace("¶", " ").split())
        self._text.clear()
        if not text:
            return
        if self._heading:
            self._path = [entry for entry in self._path if entry[0] < self._heading]
            self._path.append(
                (
                    self._heading,
                    re.sub(r"^(Chapter |Appendix )?[\dA-Z]?[\d.]*\.\s+", "", text)[:120],
                )
            )
        else:
            self.paragraphs.append((tuple(name for _, name in self._path), text))


def page_paragraphs(text: str) -> list[tuple[tuple[str, ...], str]]:
    page = Page()
    page.feed(text[: 8 * PAGE_TEXT])
    page.close()
    return page.paragraphs


def markdown_paragraphs(text: str) -> list[tuple[tuple[str, ...], str]]:
    path: list[tuple[int, str]] = []
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.strip().split("\n")
        while lines and (match := re.match(r"(#+)\s+(.*)", lines[0])):
            path = [entry for entry in path if entry[0] < len(match[1])] + [
                (len(match[1]), match[2])
            ]
            lines.pop(0)
        if lines and lines[0]:
            found.append((tuple(name for _, name in path), " ".join(" ".join(lines).split())))
    return found


def chunks(paragraphs: list[tuple[tuple[str, ...], str]]) -> Iterator[tuple[str, list[str]]]:
    """Adjacent paragraphs with the same heading path, joined to at most CHUNK characters."""
    path, parts, size, total = "", [], 0, 0
    for headings, text in paragraphs:
        here = " > ".join(dict.fromkeys(headings))
        for piece in (
            text[start : start + CHUNK] for start in range(0, min(len(text), 4 * CHUNK), CHUNK)
        ):
            if parts and (here != path or size + len(piece) > CHUNK):
                yield path, parts
                parts, size = [], 0
            path, size, total = here, size + len(piece), total + len(piece)
            parts.append(piece)
        if total > PAGE_TEXT:
            break
    if parts:
        yield path, parts


def is_prose(text: str) -> bool:
    letters = sum(map(len, WORD.findall(text)))
    return letters > 0.55 * len(text) and sum(map(str.isascii, text)) > 0.9 * len(text)


def package_pairs(source: Source, work: Path, rng: random.Random) -> Iterator[Pair]:
    """One query for each chunk: its last heading, one of its sentences, or a part of one."""
    root = fetch(source, work)
    names = sorted(
        path
        for path in root.rglob("*")
        if path.name.endswith((".html", ".htm", ".md", ".md.gz", ".html.gz"))
        and path.is_file()
        and source.within in str(path)
        and not UNWANTED_PAGE.search(str(path.relative_to(root)))
    )
    rng.shuffle(names)
    for name in names[: source.pages]:
        raw = gzip.decompress(name.read_bytes()) if name.suffix == ".gz" else name.read_bytes()
        text = raw.decode("utf-8", "replace")
        paragraphs = markdown_paragraphs(text) if ".md" in name.name else page_paragraphs(text)
        for path, parts in chunks(paragraphs):
            body = "\n".join(parts)
            if len(body) < 60 or not is_prose(body):
                continue
            yield Pair(query_of(path, parts, rng), f"{path}\n\n{body}" if path else body)


def query_of(path: str, parts: list[str], rng: random.Random) -> str:
    sentences = [
        s for part in parts for s in SENTENCE_END.split(part) if 15 < len(s) < 200 and is_prose(s)
    ]
    draw = rng.random()
    if path and (draw < 0.3 or not sentences):
        return " ".join(path.split(" > ")[-2 if draw < 0.1 else -1 :])
    if not sentences:
        return ""
    sentence = rng.choice(sentences)
    if draw < 0.6:
        return sentence
    words = sentence.split()
    length = rng.randint(2, 9)
    start = rng.randrange(max(1, len(words) - length))
    return " ".join(words[start : start + length])


def dictionary_pairs(source: Source, work: Path) -> Iterator[Pair]:
    """The entries of a dictd dictionary: head word and definition."""
    folder = fetch(source, work) / "usr/share/dictd"
    text = gzip.decompress(next(folder.glob("*.dict.dz")).read_bytes()).decode("utf-8", "replace")
    for entry in re.split(r"\n\n(?=\S)", text):
        head, _, body = entry.partition("\n" if source.package == "dict-jargon" else ",")
        body = " ".join(re.sub(r"[{}_\[\]]", "", body).split())[:CHUNK]
        if len(body) > 40 and len(head) < 60:
            yield Pair(head.strip().lower(), f"{head.strip().lower()}\n\n{body}")


class Synset(NamedTuple):
    kind: str  # the lexicographer file: noun.food, verb.motion ...
    words: list[str]
    gloss: str
    examples: list[str]


def wordnet(source: Source, work: Path) -> Iterator[Synset]:
    """Read data.* of WordNet 3.0. The format is described in its manual page wndb(5)."""
    kinds = [
        "adj",
        "adj",
        "adv",
        "noun",
        *(f"noun.{name}" for name in NOUNS),
        *(f"verb.{n}" for n in range(29, 44)),
        "adj",
    ]
    for part in ("noun", "verb", "adj", "adv"):
        for line in (
            (fetch(source, work) / f"usr/share/wordnet/data.{part}")
            .read_text("latin-1")
            .splitlines()
        ):
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition(" | ")
            fields = data.split()
            words = [
                re.sub(r"\(.*\)", "", word).replace("_", " ")
                for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]
            ]
            examples = re.findall(r'"([^"]{8,})"', gloss)
            definition = re.split(r';? *"', gloss)[0].strip().strip(";: ")
            yield Synset(kinds[int(fields[1])], words, definition, examples)


NOUNS = (
    "act animal artifact attribute body cognition communication event feeling food group "
    "location motive object person "
    "phenomenon plant possession process quantity relation shape state substance time"
).split()


def wordnet_pairs(synsets: list[Synset]) -> Iterator[Pair]:
    for synset in synsets:
        yield Pair(", ".join(synset.words[:3]), f"{', '.join(synset.words)}: {synset.gloss}")
        yield Pair(synset.gloss, "")
        for example in synset.examples:
            yield Pair(example, "")


def phrase_pairs(synsets: list[Synset], count: int, rng: random.Random) -> Iterator[Pair]:
    """The lines of phrases.txt with their {slots} filled: everyday talk and working notes, which
    manuals do not have.
    """
    slots: dict[str, list[str]] = {}
    lines = Path(__file__).with_name("phrases.txt").read_text("utf-8").splitlines()
    for line in lines:
        if line.startswith("@"):
            name, _, values = line[1:].partition("=")
            slots[name.strip()] = [value.strip() for value in values.split("|")]
    for synset in synsets:
        if synset.kind.startswith("noun."):
            slots.setdefault(synset.kind[5:], []).extend(
                word for word in synset.words[:1] if word.islower() and len(word) < 16
            )
    templates = [line for line in lines if line and line[0] not in "@#"]
    for number in range(count):
        template = templates[number % len(templates)]
        memory: dict[str, str] = {}

        def fill(match: re.Match[str], memory: dict[str, str] = memory) -> str:
            return memory.setdefault(match[1], rng.choice(slots[match[1].rstrip("123")]))

        query, _, document = re.sub(r"\{(\w+)\}", fill, template).partition(" => ")
        yield Pair(query, document)


def pairs(work: Path, seed: int, phrases: int) -> list[Pair]:
    rng = random.Random(seed)
    found: list[Pair] = []
    for source in sources():
        before = len(found)
        if source.package == "wordnet-base":
            synsets = list(wordnet(source, work))
            found += wordnet_pairs(synsets)
        elif source.package.startswith("dict-"):
            found += dictionary_pairs(source, work)
        else:
            found += package_pairs(source, work, rng)
        print(f"texts: {source.package} {len(found) - before:,}", flush=True)
    found += phrase_pairs(synsets, phrases, rng)
    return list(dict.fromkeys(found))
