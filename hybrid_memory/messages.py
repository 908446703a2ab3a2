"""What the library says while it works: warnings for Python's logging, and how far long work has
come.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple


def warning(message: str, *values: object) -> None:
    """Log `message` % `values` under the name "hybrid_memory", at no cost where nobody has imported
    logging.

    It is printed nowhere unless the program set up logging.
    """
    logging = sys.modules.get("logging")
    if logging is None:
        return
    logger = logging.getLogger("hybrid_memory")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.warning(message, *values)


class Progress(NamedTuple):
    """How much of a stage is done: what an ingest, a reindex and an evaluation tell whoever started
    them.
    """

    stage: str  # "files", "embeddings", "documents" or "queries"
    done: int
    total: int
    chunks: int = 0  # written so far


def count_batches(
    stage: str, total: int, tell: Callable[[Progress], None], chunks: int = 0
) -> Callable[[int], None]:
    """Return a function to be called with the size of each batch, which tells how many are done of
    `total`.
    """
    done = 0

    def on_batch(count: int) -> None:
        nonlocal done
        done += count
        tell(Progress(stage, done, total, chunks))

    return on_batch
