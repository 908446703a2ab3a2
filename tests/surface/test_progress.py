"""The progress line: it shows a rate and the remaining time only when both are known."""

import io

import pytest

from hybrid_memory.messages import Progress
from hybrid_memory.surface import terminal


def test_a_rate_is_shown_after_two_seconds_and_counts_from_the_first_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    clock = [0.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: clock[0])
    line = terminal.ProgressLine(stream)
    for now, done, chunks in [(30.0, 1, 9), (31.0, 51, 400), (33.0, 151, 900), (40.0, 501, 3000)]:
        clock[0] = now
        line(Progress("files", done, 2001, chunks))
    shown = [part.removesuffix("\033[K") for part in stream.getvalue().split("\r")[1:]]
    assert shown == [
        "files 1/2,001, 9 chunks",
        "files 51/2,001, 400 chunks",
        "files 151/2,001, 900 chunks, 50/s, 0:00:37 left",
        "files 501/2,001, 3,000 chunks, 50/s, 0:00:30 left",
    ]
