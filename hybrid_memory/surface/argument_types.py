"""From the words of a command line to the values of its options. Raises argparse.ArgumentTypeError for a wrong one."""

import argparse

from ..search.hit import MODES
from ..text.characters import storable_name
from ..typed.names import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import date

MOST = 10**9  # a larger count means the same, and SQLite has no number above 2**63


def given(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return storable_name(text)


def count(text: str, least: int = 0) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{number} is less than {least}")
    return min(number, MOST)


def positive(text: str) -> int:
    return count(text, 1)


def budget(text: str) -> int:
    """Characters; a number of tokens is written 1000t."""
    tokens = text.endswith("t")
    return count(text.removesuffix("t"), 25 if tokens else 100) * (4 if tokens else 1)


def port(text: str) -> int:
    number = count(text)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"{number} is more than 65535")
    return number


def days(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a number from 0 up")
    return number


def day(text: str) -> "date":
    from datetime import date

    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day: write 2026-01-05") from None


def share(text: str) -> float:
    number = days(text)
    if number > 1:
        raise argparse.ArgumentTypeError(f"{text} is more than 1")
    return number


def modes(text: str) -> list[str]:
    modes = text.split(",")
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is not one of {', '.join(MODES)}")
    return modes


def key_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return storable_name(key), storable_name(value)
