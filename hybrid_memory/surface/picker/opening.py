"""Opens what was picked: its file in the editor, or its text in the pager."""

import os
from typing import Any

from ...store import HybridStore
from .. import requests
from ..editor import open_result
from ..printable import printable

ALL = 10**9


def open_chosen(store: HybridStore, result: dict[str, Any]) -> None:
    """Open the file of a result in $VISUAL or $EDITOR; without one, or without a file, show what it says from there on."""
    if result["path"] and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        open_result([result], 1)
        return
    from pydoc import pager

    target = f"{result['doc_id']}#L{result['start_line']}-L{ALL - 1}"
    pager(printable(requests.get(store, target, max_lines=ALL, max_chars=ALL)["text"]) + "\n")
