"""What the ending of a file's name says about its format, without importing the format."""

from ..registry import FORMATS, GROWING

LONGEST_SUFFIX = max(map(len, FORMATS))


def own_suffix(name: str) -> str | None:
    """The ending of a name that has its own format: "Report.PDF" -> ".pdf", "a.md" -> None"""
    ending = name[-LONGEST_SUFFIX:].lower()
    return next((suffix for suffix in FORMATS if ending.endswith(suffix)), None)


def grows(name: str) -> bool:
    """Whether a file of this name grows at its end, so that only new text is read and written.

    Each line of such a file is a record. A passage of several chunks has blank lines between them.
    """
    return own_suffix(name) in GROWING
