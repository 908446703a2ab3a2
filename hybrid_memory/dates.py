"""The date of a document: from its path, else from its front matter, else none. Pure."""

import re
from collections.abc import Mapping
from typing import Any

_PATH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./](0[1-9]|1[0-2])(?:[-_./](0[1-9]|[12]\d|3[01]))?(?!\d)")
_VALUE = re.compile(r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?(?!\d)")


def document_date(doc_id: str, metadata: Mapping[str, Any]) -> str | None:
    """ISO 8601, the day or only the month: 'memory/2026-01-05-standup.md' -> '2026-01-05', 'notes/2026/01/x.md' -> '2026-01'.

    The last date in the path counts, the most exact first; then `date` of the front matter.
    """
    found = [match.groups() for match in _PATH.finditer(doc_id)]
    if found:
        year, month, day = max(reversed(found), key=lambda groups: groups[2] is not None)
        return f"{year}-{month}-{day}" if day else f"{year}-{month}"
    match = _VALUE.match(str(metadata.get("date", "")))
    return match[0] if match else None
