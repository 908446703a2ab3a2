"""Measure a table for many languages on pages that it was not trained with: GNOME's help.

A page says in one sentence what it is about; that sentence is the query, and the page without it
the document. Across languages the query is the English sentence.

    python training/multilingual_measure.py --work ~/multilingual-work --into ~/gnome-help

writes for each language a folder `docs`, `queries.jsonl` and `qrels.tsv`, as `hybrid-memory eval`
reads them.
"""

from __future__ import annotations

import argparse
import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import texts

LEAST_PAGES = 40  # that are translated
LEAST_PARAGRAPHS = 2  # of a page that is written as a document
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


def write_collection(help_root: Path, language: str, folder: Path) -> int:
    """Write the pages that are translated into a language, and return how many they are; none if
    they are fewer than LEAST_PAGES.
    """
    pages = {}
    for path in sorted((help_root / "C" / "gnome-help").glob("*.page")):
        translation = help_root / language / "gnome-help" / path.name
        if not translation.exists():
            continue
        english, own = page(path), page(translation)
        paragraphs = [text for text in own.paragraphs if text not in english.paragraphs]
        if own.summary not in ("", english.summary) and len(paragraphs) >= LEAST_PARAGRAPHS:
            pages[path.stem] = own._replace(paragraphs=paragraphs)
    if len(pages) < LEAST_PAGES:
        return 0
    documents = folder / language / "docs"
    documents.mkdir(parents=True, exist_ok=True)
    for name, own in pages.items():
        text = "\n\n".join([f"# {own.title}", *own.paragraphs])
        (documents / f"{name}.md").write_text(f"{text}\n", "utf-8")
    queries = [json.dumps({"id": name, "text": own.summary}) for name, own in pages.items()]
    (folder / language / "queries.jsonl").write_text("\n".join(queries), "utf-8")
    judgements = "\n".join(f"{name}\tdocs/{name}\t1" for name in pages)
    (folder / language / "qrels.tsv").write_text(judgements, "utf-8")
    return len(pages)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for packages")
    parser.add_argument("--into", type=Path, required=True, help="folder for the collections")
    args = parser.parse_args()
    help_root = texts.fetch(SOURCE, args.work.expanduser()) / "usr/share/help"
    for folder in sorted(help_root.iterdir()):
        count = write_collection(help_root, folder.name, args.into.expanduser())
        if count:
            print(f"{folder.name}: {count} pages")


if __name__ == "__main__":
    main()
