"""Coroutines in tests."""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import anyio


def run_async(play: Callable[[], Awaitable[None]]) -> None:
    """Run it in a thread of its own: the browser of the page's tests keeps an event loop in the one of the tests."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(anyio.run, play).result()
