"""Whether the time that a function takes grows far faster than what it is given.

A text of four times the length takes four times the time where that is linear, and sixteen times where it is quadratic.
"""

import time
from collections.abc import Callable
from typing import Any

LONGER = 4
MOST_GROWTH = 9.0
CERTAIN = 0.5  # seconds: a busy machine does not turn a fifth of them into these


def cpu_seconds(run: Callable[[Any], object], given: Any) -> float:
    begun = time.process_time()
    run(given)
    return time.process_time() - begun


def grows_too_fast(
    run: Callable[[Any], object], of_length: Callable[[int], Any], length: int, *, little: float
) -> bool:
    """Whether `run` takes far more than linear time for what `of_length` gives.

    Less than `little` seconds at this length is never too much. A short text that seems to take too long is
    made longer: a pause of the machine, and a part of a pattern that is bounded, show in short texts only.
    """
    if cpu_seconds(run, of_length(length)) <= little:
        return False
    while True:
        took, before = (
            min(cpu_seconds(run, given) for _ in range(3))
            for given in (of_length(length), of_length(length // LONGER))
        )
        if took <= MOST_GROWTH * before:
            return False
        if took > CERTAIN:
            return True
        length *= LONGER
