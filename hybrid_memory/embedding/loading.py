"""Let a server load its model after this process has ended.

Servers such as Ollama stop loading a model when the client that waits for it disconnects. A command
that has waited long enough therefore starts a process that embeds one word, with all the time that
loading takes.
"""

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ..config import Settings
from .choice import fitting

WORD = "load"
# Seconds during which a server that was late is not asked again to load its model
PERIOD = 300.0
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_later(
    settings: Settings, identity: Mapping[str, Any], note_late: Callable[[float], bool]
) -> None:
    """Start a process that waits for the model of this identity. Does not wait for that process.

    `note_late` returns whether nobody has done so in the last PERIOD. The settings are sent through
    a pipe, because a URL may contain a password.
    """
    if not note_late(PERIOD):
        return
    from subprocess import DEVNULL, PIPE, Popen  # few commands need these
    from threading import Thread

    # The program's own folder is the working directory, so that no module comes from the user's
    with suppress(OSError):
        process = Popen(
            [sys.executable, "-m", __name__],
            cwd=TOP,
            stdin=PIPE,
            stdout=DEVNULL,
            stderr=DEVNULL,
            start_new_session=True,
        )
        assert process.stdin
        with process.stdin:
            process.stdin.write(json.dumps([settings, dict(identity)]).encode())
        Thread(target=process.wait, daemon=True).start()  # so that it does not stay a zombie


def main() -> None:
    """Embed one word by the model whose settings and identity are on standard input."""
    settings, identity = json.load(sys.stdin)
    embedder = fitting(Settings(settings), identity)
    if embedder:
        embedder.embed_batch([WORD])


if __name__ == "__main__":
    main()
