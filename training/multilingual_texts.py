"""Make training texts in many languages from the Debian packages in multilingual_sources.tsv.

A pair is two texts that mean the same, in two languages, or a heading and the text below it, in one
language or two. Pages of GNOME's help are not used: they are the measure of the result
(multilingual_measure.py).
"""

from __future__ import annotations

import gettext
import gzip
import html
import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import texts

LANGUAGES = (
    "de fr es it pt nl sv da nb fi pl cs hu ro tr id vi ru uk bg el ar fa he hi th zh ja ko".split()
)
CODES = {"pt_BR": "pt", "zh_CN": "zh", "pt-br": "pt", "zh-cn": "zh", "no": "nb"} | {
    language: language for language in LANGUAGES
}
FREEDICT = {
    "ara": "ar", "bul": "bg", "ces": "cs", "dan": "da", "deu": "de", "ell": "el", "fin": "fi",
    "fra": "fr", "hin": "hi", "hun": "hu", "ind": "id", "ita": "it", "jpn": "ja", "nld": "nl",
    "nor": "nb", "pol": "pl", "por": "pt", "rom": "ro", "rus": "ru", "spa": "es", "swe": "sv",
    "tur": "tr",
}  # fmt: skip
MOST_MESSAGES = 14_000  # of one language
MOST_PARAGRAPHS = 9_000
MOST_SECTIONS = 5_000
MOST_ENTRIES = 12_000
LONGEST = 400  # characters of a text; of Chinese and Japanese that is more than enough
PARAGRAPH = re.compile(r'<(h[1-6]|p) id="([^"]+)"[^>]*>(.*?)</\1>', re.DOTALL)
MARKUP = re.compile(r"<[^>]*>|%\S*|\$\w+|\{[^}]*\}|\\n|\|.*")


class Pair(NamedTuple):
    """Two texts that belong together; `language` is that of the second."""

    first: str
    second: str
    language: str
    kind: str


def plain(text: str) -> str:
    """Return the text without tags, placeholders and marks of access keys."""
    text = html.unescape(MARKUP.sub(" ", text))
    return " ".join(re.sub(r"[&~_](?=\w)", "", text).split())[:LONGEST]


def is_text(text: str) -> bool:
    letters = sum(map(str.isalpha, text))
    return letters >= 2 and letters > 0.5 * len(text)


def sampled(pairs: list[Pair], most: int, rng: random.Random) -> list[Pair]:
    pairs = list(dict.fromkeys(pairs))
    return rng.sample(pairs, most) if len(pairs) > most else pairs


def message_pairs(folders: list[Path], rng: random.Random) -> Iterator[Pair]:
    """Yield messages of programs with their translations, the longer ones first."""
    by_language: dict[str, list[Pair]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.mo")):
            language = CODES.get(path.parts[path.parts.index("LC_MESSAGES") - 1])
            if not language:
                continue
            try:
                with path.open("rb") as file:
                    catalogue = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]
            except UnicodeDecodeError:  # a few are not in UTF-8
                continue
            pairs = by_language.setdefault(language, [])
            for key, translated in catalogue.items():
                key = key[0] if isinstance(key, tuple) else key
                source = plain(key.rpartition("\x04")[2])
                target = plain(translated)
                if source != target and is_text(source) and is_text(target):
                    pairs.append(Pair(source, target, language, "message"))
    for pairs in by_language.values():
        long = [pair for pair in pairs if len(pair.first) > 60]
        short = [pair for pair in pairs if len(pair.first) <= 60]
        yield from sampled(long, MOST_MESSAGES // 2, rng)
        yield from sampled(short, MOST_MESSAGES // 2, rng)


class Section(NamedTuple):
    heading: str
    paragraphs: list[str]


def help_page(path: Path) -> tuple[dict[str, str], list[Section]]:
    """Return the paragraphs of a page of LibreOffice's help by their ids, and its sections."""
    by_id = {}
    sections: list[Section] = []
    source = path.read_text("utf-8", "replace")
    for tag, name, content in PARAGRAPH.findall(source[source.find('id="DisplayArea"') :]):
        text = " ".join(html.unescape(re.sub("<[^>]*>", "", content)).split())
        if not is_text(text):
            continue
        by_id[name] = text[:LONGEST]
        if tag[0] == "h":
            sections.append(Section(text, []))
        elif sections:
            sections[-1].paragraphs.append(text)
    return by_id, sections


def help_pages(root: Path) -> dict[str, Path]:
    """Return the pages of a language by their names, which are the same in every language."""
    [folder] = root.glob("usr/share/libreoffice/help/*/text")
    return {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.html"))}


def help_pairs(english_root: Path, roots: dict[str, Path], rng: random.Random) -> Iterator[Pair]:
    """Yield paragraphs of LibreOffice's help with their translations, and headings with the
    beginning of the text below them.
    """
    english = {name: help_page(path) for name, path in help_pages(english_root).items()}
    yield from sampled(
        [
            Pair(section.heading, " ".join(section.paragraphs)[:LONGEST], "en", "section")
            for _, sections in english.values()
            for section in sections
            if section.paragraphs
        ],
        2 * MOST_SECTIONS,
        rng,
    )
    for language, root in roots.items():
        translated, below = [], []
        for name, path in help_pages(root).items():
            originals, original_sections = english.get(name, ({}, []))
            by_id, sections = help_page(path)
            for id, text in by_id.items():
                if originals.get(id, text) != text:
                    translated.append(Pair(originals[id], text, language, "paragraph"))
            untranslated = set(originals.values())
            for number, section in enumerate(sections):
                body = " ".join(text for text in section.paragraphs if text not in untranslated)
                if section.heading in untranslated or not body:
                    continue
                below.append(Pair(section.heading, body[:LONGEST], language, "section"))
                if len(original_sections) == len(sections):
                    heading = original_sections[number].heading
                    below.append(Pair(heading, body[:LONGEST], language, "cross"))
        yield from sampled(translated, MOST_PARAGRAPHS, rng)
        yield from sampled(below, MOST_SECTIONS, rng)


def dictionary_pairs(folder: Path, rng: random.Random) -> Iterator[Pair]:
    """Yield head words of a FreeDict dictionary with the first line of their translations."""
    [path] = folder.glob("usr/share/dictd/*.dict.dz")
    name = path.name.removesuffix(".dict.dz")
    source, target = name.removeprefix("freedict-").split("-")
    data = gzip.decompress(path.read_bytes())
    pairs = []
    for line in path.with_name(f"{name}.index").read_text("utf-8").splitlines():
        head, offset, length = line.split("\t")[:3]
        start = _number(offset)
        entry = data[start : start + _number(length)].decode("utf-8", "replace")
        body = entry.partition("\n")[2].strip().partition("\n")[0]
        body = plain(re.sub(r"<.*?>|\[.*?\]|/.*?/|^\d+\.\s*", " ", body))
        if head.startswith("00") or not (is_text(head) and is_text(body)) or len(head) > 60:
            continue
        if source == "eng":
            pairs.append(Pair(head, body, FREEDICT[target], "word"))
        else:
            pairs.append(Pair(body, head, FREEDICT[source], "word"))
    yield from sampled(pairs, MOST_ENTRIES, rng)


DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _number(text: str) -> int:
    """Return a number of a dictd index, which has 6 bits in each character."""
    number = 0
    for digit in text:
        number = 64 * number + DIGITS.index(digit)
    return number


def edict_pairs(folder: Path, rng: random.Random) -> Iterator[Pair]:
    """Yield the common words of EDICT, written in kanji and in kana, with their translations."""
    pairs = []
    text = (folder / "usr/share/edict/edict").read_text("euc-jp", "replace")
    for line in text.splitlines()[1:]:
        if "/(P)/" not in line:
            continue
        head, _, body = line.partition(" /")
        english = plain(re.sub(r"\([^)]*\)|/", " ", body))
        heads = re.findall(r"[^\s\[\]();]+", head)
        if is_text(english):
            pairs += [Pair(english, word, "ja", "word") for word in heads if is_text(word)]
    yield from sampled(pairs, 2 * MOST_ENTRIES, rng)


def cldr_pairs(folder: Path, rng: random.Random) -> Iterator[Pair]:
    """Yield key words of emoji, and names of countries, languages and currencies, in English and
    another language.
    """
    root = folder / "usr/share/unicode/cldr/common"

    def names(language: str) -> dict[str, str]:
        by_key = {}
        for element in ET.parse(root / "annotations" / f"{language}.xml").iter("annotation"):
            if element.get("type") != "tts" and element.text:
                by_key[element.get("cp", "")] = element.text.replace(" | ", ", ")
        tree = ET.parse(root / "main" / f"{language}.xml")
        for tag in ("territory", "language", "displayName"):
            for element in tree.iter(tag):
                key = f"{tag} {element.get('type')}"
                if element.text and "None" not in key:
                    by_key.setdefault(key, element.text)
        return by_key

    english = names("en")
    for language in LANGUAGES:
        path = "no" if language == "nb" else language
        pairs = [
            Pair(english[key], text, language, "word")
            for key, text in names(path).items()
            if key in english and english[key] != text and is_text(text)
        ]
        yield from sampled(pairs, MOST_ENTRIES, rng)


def pairs(work: Path, seed: int) -> list[Pair]:
    """Return all pairs, in a random order that the seed decides."""
    rng = random.Random(seed)
    folders = {source.package: texts.fetch(source, work) for source in sources()}
    catalogues = [
        folder
        for package, folder in folders.items()
        if "help" not in package and "dict" not in package
    ]
    made = list(message_pairs(catalogues, rng))
    helps = {
        CODES[package.removeprefix("libreoffice-help-")]: folder
        for package, folder in folders.items()
        if package.removeprefix("libreoffice-help-") in CODES
    }
    made += help_pairs(folders["libreoffice-help-en-us"], helps, rng)
    for package, folder in folders.items():
        if package.startswith("dict-freedict"):
            made += dictionary_pairs(folder, rng)
    made += edict_pairs(folders["edict"], rng)
    made += cldr_pairs(folders["unicode-cldr-core"], rng)
    made = list(dict.fromkeys(made))
    rng.shuffle(made)
    return made


def sources() -> list[texts.Source]:
    lines = Path(__file__).with_name("multilingual_sources.tsv").read_text("utf-8").splitlines()
    return [
        texts.Source(package, version, sha256, 0, licence, "")
        for package, version, sha256, licence in (line.split("\t") for line in lines[1:])
    ]
