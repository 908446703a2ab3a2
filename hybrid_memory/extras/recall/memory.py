"""Open the memory that a hook may use: only that of the workspace in which the agent works."""

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from ...store import HybridStore
from ...surface.opening import is_of_another_workspace, open_store
from .runs import NoMemoryError


@contextmanager
def own_store(args: Namespace) -> Iterator[HybridStore]:
    """Open the memory of the workspace. Raises NoMemoryError if it has none."""
    if is_of_another_workspace(args):
        raise NoMemoryError("this folder has no memory; `hybrid-memory init` creates one")
    with open_store(args) as store:
        yield store
