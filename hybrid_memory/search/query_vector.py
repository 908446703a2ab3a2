"""The embedding of a query: from memory, from the store or from the model; or why there is none."""

from collections.abc import Callable

from ..config import PROVIDERS
from ..embedding.identity import MISFIT, NOT_MIXED, conflict, name_of
from ..typed.names import TYPE_CHECKING

if TYPE_CHECKING:
    from ..config import Settings
    from ..embedding.protocol import Embedder
    from ..storage.protocol import Storage
    from ..storage.rows import Identity
    from ..text.query import Query

BACKLOG = 0.1  # of all chunks: with more pending, the user is told

EmbedderSource = Callable[[], "Embedder | None"]


def query_vector(
    storage: "Storage", settings: "Settings", embedder: EmbedderSource, query: "Query", mode: str
) -> tuple[list[float] | None, str | None]:
    """The vector, and what the user should be told if something is left out.

    The vector is None where keywords alone are to answer, [] where the mode is "vector" and nothing can be near.
    """
    if mode == "keyword" or query.is_blank:
        return None, None
    vector, problem = _found(storage, settings, embedder, query, mode)
    return vector or (None if mode == "hybrid" else []), problem


def _found(
    storage: "Storage", settings: "Settings", embedder: EmbedderSource, query: "Query", mode: str
) -> tuple[list[float], str | None]:
    identity = storage.embeddings.identity()
    if problem := _why_none(storage, settings, embedder, identity, mode):
        return [], problem
    model = embedder() if identity else None
    if model is None or identity is None:
        return [], None
    vector = _embedded(storage, settings, model, identity, query.text)
    if len(vector) == identity["dims"]:
        return vector, _backlog(storage) or _chosen_otherwise(settings, identity)
    problem = MISFIT if vector else model.problem
    if problem is None:  # the model works, and knows no word of this: nothing is near
        return [], None
    return [], problem


def _embedded(storage: "Storage", settings: "Settings", embedder: "Embedder", identity: "Identity", query: str) -> list[float]:
    if embedder.provider == "builtin":
        return embedder.embed(query)  # faster than looking it up
    return storage.query_cache(settings["query_cache_size"]).vector(identity, query, embedder.embed)


def _backlog(storage: "Storage") -> str | None:
    """What to tell the user where so many chunks have no embedding that the answer would be another one with them."""
    pending = storage.embeddings.count_pending()
    total = storage.chunks.count() if pending else 0
    if pending <= BACKLOG * total:
        return None
    return f"{pending:,} of {total:,} chunks have no embedding yet: found by keyword alone; `hybrid-memory update` makes them"


def _chosen_otherwise(settings: "Settings", identity: "Identity") -> str | None:
    """What to tell the user where the settings choose another model than the one that answers."""
    provider, model = settings["provider"], settings["model"]
    of_store = identity["provider"], identity["model"]
    if provider == "auto" or of_store[0] not in PROVIDERS:  # the latter is an embedder that a program has given
        return None
    if provider == of_store[0] and (provider == "builtin" or model is None or model.removesuffix(":latest") == of_store[1]):
        return None
    others = f"`hybrid-memory update` has made those of {provider} {model or ''}".rstrip()
    return f"answering with the embeddings of {name_of(identity)} until {others}"


def _why_none(
    storage: "Storage", settings: "Settings", embedder: EmbedderSource, identity: "Identity | None", mode: str
) -> str | None:
    if settings["provider"] == "none" and not embedder():
        return None if mode == "hybrid" else 'the provider is "none": there is no search by meaning'
    if identity is None:
        if not storage.embeddings.count_pending():
            return None  # nothing waits for an embedding
        once = " once Ollama is up (`ollama serve`)" if settings["provider"] == "ollama" else ""
        return f"no chunk has an embedding yet{_instead(mode)}; `hybrid-memory update` makes them{once}"
    model = embedder()
    if model is None:
        name = identity["provider"]
        return f"the store's embeddings are {name}'s{_instead(mode)}; name that provider with --provider {name}"
    following = storage.embeddings.spare.next_identity()
    if following and name_of(following) == name_of(identity) and following.get("fingerprint") != identity.get("fingerprint"):
        return f"{NOT_MIXED}{_instead(mode)}"
    return conflict(identity, model, _instead(mode))


def _instead(mode: str) -> str:
    return ": answering by keyword" if mode == "hybrid" else ""
