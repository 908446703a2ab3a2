"""What is extracted from a document that is not text."""

from ...typed.names import Any, NamedTuple

MAX_TEXT = 10_000_000  # characters


class Extract(NamedTuple):
    """A text in markdown. `pages` has the line, from 1, with which each page begins; it is empty if the format has no pages."""

    text: str
    pages: list[int]
    metadata: dict[str, Any]
    warning: str | None = None


class ExtractError(Exception):
    """Why there is no text, and the reason in a word or two, as in the report of an ingest."""

    def __init__(self, reason: str, kind: str) -> None:
        super().__init__(reason)
        self.kind = kind
