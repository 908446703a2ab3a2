"""Which reranker the settings choose. The module of one is imported when it is chosen."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...config import Settings
    from .base import Reranker


def make(settings: "Settings") -> "Reranker":
    """The reranker that the settings name, which is not "none". It is asked nothing yet."""
    name, model, timeout = settings["rerank"], settings["rerank_model"], settings["rerank_timeout"]
    if name == "local":
        from .local import LocalReranker

        return LocalReranker(model, timeout)
    from .servers import ServerReranker

    return ServerReranker(name, settings["rerank_url"], model, timeout)
