"""Read the notes of a Dendron vault, whose links have the displayed words first: `[[words|a.b.c]]`."""

import re

from ...documents.links import DocumentLinks
from ...documents.markdown import Markdown, Parsed

LABELED = re.compile(
    r"\[\[([^\[\]\n|]{1,400})\|(?:dendron://[^/\[\]\n]{1,100}/)?([^\[\]\n|]{1,400})\]\]"
)


class Dendron(Markdown):
    """Implements `formats.Format`."""

    def links(self, parsed: Parsed) -> DocumentLinks:
        """As in `Markdown`."""
        return super().links(parsed._replace(text=LABELED.sub(r"[[\2|\1]]", parsed.text)))


FORMAT = Dendron()
