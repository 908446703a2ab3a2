"""Messages of the library while it works: warnings for Python's logging, and the progress of long
work.
"""

import sys
from collections.abc import Callable
from typing import NamedTuple


def warning(message: str, *values: object) -> None:
    """Log `message` % `values` under the name "hybrid_memory", unless logging was never imported.

    Nothing is printed unless the program has set up logging.
    """
    logging = sys.modules.get("logging")
    if logging is None:
        return
    logger = logging.getLogger("hybrid_memory")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.warning(message, *values)


class Progress(NamedTuple):
    """The progress of one stage of an ingest, a reindex or an evaluation."""

    stage: str  # "files", "embeddings", "documents" or "queries"
    done: int
    total: int
    chunks: int = 0  # of the files so far


def count_batches(
    stage: str, total: int, tell: Callable[[Progress], None], chunks: int = 0
) -> Callable[[int], None]:
    """Return a function that adds the size of a batch and reports the progress towards `total`."""
    done = 0

    def on_batch(count: int) -> None:
        nonlocal done
        done += count
        tell(Progress(stage, done, total, chunks))

    return on_batch
