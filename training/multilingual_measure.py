"""Measure a table for many languages on pages that it was not trained with: GNOME's help.

A page says in one sentence what it is about; that sentence is the query, and the page without it
the document. Across languages the query is the English sentence.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import texts

LEAST_PAGES = 40  # that are translated
SOURCE = texts.Source(
    "gnome-user-docs",
    "43.0-2",
    "0d635a840747958ca84da778b40d341f1155603851f922c9a171f5a181d6a39f",
    0,
    "CC-BY-SA-3.0",
    "",
)
PAGE = 1_500  # characters of a page that are read
LANGUAGES = {
    "de": "de", "es": "es", "fr": "fr", "pl": "pl", "ro": "ro", "tr": "tr", "vi": "vi", "ru": "ru",
    "uk": "uk", "el": "el", "fa": "fa", "he": "he", "hi": "hi", "zh": "zh_CN", "ja": "ja",
    "ko": "ko",
}  # fmt: skip


class Page(NamedTuple):
    summary: str
    title: str
    paragraphs: list[str]


class Questions(NamedTuple):
    """Each query's document has the same index."""

    queries: list[str]
    english: list[str]
    documents: list[str]


def page(path: Path) -> Page:
    source = path.read_text("utf-8")

    def plain(text: str) -> str:
        return " ".join(html.unescape(re.sub(r"<!--.*?-->|<[^>]*>", " ", text)).split())

    summary = re.search(r"<desc>(.*?)</desc>", source, re.DOTALL)
    title = re.search(r"</info>.*?<title[^>]*>(.*?)</title>", source, re.DOTALL)
    body = source.partition("</info>")[2]
    paragraphs = [plain(text) for text in re.findall(r"<p>(.*?)</p>", body, re.DOTALL)]
    return Page(plain(summary[1]) if summary else "", plain(title[1]) if title else "", paragraphs)


def questions(help_root: Path, language: str) -> Questions:
    made = Questions([], [], [])
    for path in sorted((help_root / "C" / "gnome-help").glob("*.page")):
        english = page(path)
        own = page(help_root / LANGUAGES[language] / "gnome-help" / path.name)
        paragraphs = [text for text in own.paragraphs if text not in english.paragraphs]
        if own.summary and own.summary != english.summary and paragraphs:
            made.queries.append(own.summary)
            made.english.append(english.summary)
            made.documents.append(" ".join(paragraphs)[:PAGE])
    return made


def recall(queries: np.ndarray, documents: np.ndarray, depth: int) -> float:
    """Return the share of the queries whose own document is among the nearest `depth`."""
    scores = queries @ documents.T
    own = scores.diagonal()[:, None]
    return float(((scores > own).sum(1) < depth).mean())


def report(help_root: Path, vectors: Callable[[list[str]], np.ndarray]) -> dict[str, list[float]]:
    """Return by language recall@1 within it and recall@5 of English queries."""
    by_language = {}
    for language in LANGUAGES:
        asked = questions(help_root, language)
        if len(asked.queries) < LEAST_PAGES:
            continue
        documents = vectors(asked.documents)
        by_language[language] = [
            recall(vectors(asked.queries), documents, 1),
            recall(vectors(asked.english), documents, 5),
            len(asked.queries),
        ]
    return by_language


def summary(by_language: dict[str, list[float]]) -> str:
    own, across, _ = np.mean(list(by_language.values()), axis=0)
    languages = ", ".join(
        f"{language} {own:.2f} {across:.2f}" for language, (own, across, _) in by_language.items()
    )
    return f"recall@1 {own:.3f}, recall@5 from English {across:.3f} ({languages})"
