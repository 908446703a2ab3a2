"""How far long work has come: what an ingest, a reindex and an evaluation tell whoever started them."""

from collections.abc import Callable

from .typed.names import NamedTuple


class Progress(NamedTuple):
    """Of the `stage` ("files", "embeddings" or "queries") so many are done, of so many. `chunks` were written so far."""

    stage: str
    done: int
    total: int
    chunks: int = 0


def counted(stage: str, total: int, tell: Callable[[Progress], None], chunks: int = 0) -> Callable[[int], None]:
    """A function to be called with the size of each batch, which tells how many are done of `total`."""
    done = 0

    def on_batch(count: int) -> None:
        nonlocal done
        done += count
        tell(Progress(stage, done, total, chunks))

    return on_batch
