"""Reading the trace of a score, as `explain` gives it."""

from collections.abc import Mapping
from typing import Any


def steps(result: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The steps with this name, in order."""
    return [step for step in result["explain"]["trace"] if step["name"] == name]


def step(result: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The only step with this name."""
    [found] = steps(result, name)
    return found


def evaluated(result: Mapping[str, Any], *, without: str = "") -> float:
    """The score that the trace gives, from left to right; `without` leaves out steps of this name."""
    score = 0.0
    for each in result["explain"]["trace"]:
        if each["name"] == without:
            continue
        score = score * each["multiply"] if "multiply" in each else score + each["add"]
    return score


def is_of_date(result: Mapping[str, Any]) -> bool:
    """Whether a part was added because the passage is of a day that the query means."""
    return any("add" in each for each in steps(result, "date"))
