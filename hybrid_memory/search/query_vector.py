"""The embeddings of queries: by which model, and what to report where there are none."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..embedding.builtin import minilm_vector
from ..embedding.choice import BUILTIN, replacement
from ..embedding.identity import (
    MISFIT,
    NAMESAKE,
    conflict,
    differing,
    identity_of,
    is_minilm,
    is_namesake,
    name_of,
    with_fallback_note,
)
from ..embedding.loading import PERIOD, load_later
from ..errors import Message, WayOut
from ..storage.rows import Identity

if TYPE_CHECKING:
    from ..config import Settings
    from ..embedding.interface import Embedder
    from ..storage.interface import Storage
    from ..text.query import Query

# Seconds that a query waits if the server was late a short time ago; a loaded model needs
# milliseconds
SHORT_WAIT = 0.5
BACKLOG = 0.1  # share of all chunks; if more have no embedding, a warning says so


class NamesakeError(Exception):
    """The embedder's vectors are those of another model of the same name."""


class QueryVectors:
    """The embeddings of the phrasings of one search; [] for a phrasing without one. `problem` is a
    warning for the user. `identity` is that of the store's embeddings at that time.
    """

    def __init__(
        self,
        values: list[list[float]],
        problem: str | None = None,
        identity: "Identity | None" = None,
    ) -> None:
        self.values = values
        self.problem = problem
        self.identity = identity


def query_vectors(
    storage: "Storage",
    settings: "Settings",
    embedder: "Callable[[], Embedder | None]",
    queries: "Sequence[Query]",
    mode: str,
) -> QueryVectors:
    """Embed the phrasings of a search, the question first, or read their embeddings from the cache
    of the store. What the cache lacks is one request to a server.
    """
    nothing: list[list[float]] = [[] for _ in queries]
    if mode == "keyword" or queries[0].is_blank:
        return QueryVectors(nothing)
    identity = storage.embeddings.identity()
    problem = _why_no_vector(storage, settings, embedder, identity, mode)
    if problem:
        return QueryVectors(nothing, problem, identity)
    model = embedder() if identity else None
    if model is None or identity is None:
        return QueryVectors(nothing, None, identity)
    texts = [query.text for query in queries]
    try:
        vectors = _embedded(storage, settings, model, identity, texts)
    except NamesakeError:
        return QueryVectors(nothing, _namesake(mode), identity)
    fitting = [vector if len(vector) == identity["dims"] else [] for vector in vectors]
    if any(fitting):
        advice = _backlog(storage) or _settings_name_another(settings, identity)
        missed = None if all(fitting) else model.problem
        return QueryVectors(fitting, missed or advice, identity)
    if model.problem and is_minilm(identity):
        replaced = [minilm_vector(text) for text in texts]
        if any(replaced):
            return QueryVectors(replaced, with_fallback_note(model.problem, identity), identity)
    if any(vectors):
        return QueryVectors(nothing, MISFIT, identity)
    problem = model.problem
    # Without a problem, a model that is final works and knows no word of this: nothing is near.
    if not problem and not model.is_final:
        problem = "the embedder gave no vector for the query"
    if problem and mode == "hybrid":
        problem = with_fallback_note(problem, None)
    return QueryVectors(nothing, problem, identity)


def _embedded(
    storage: "Storage",
    settings: "Settings",
    embedder: "Embedder",
    identity: "Identity",
    texts: list[str],
) -> list[list[float]]:
    """Get the embeddings of queries. Raises NamesakeError."""
    if embedder.provider in BUILTIN:
        return embedder.embed_queries(texts)  # faster than looking them up

    def ask(new: list[str]) -> list[list[float]]:
        is_slow = storage.embeddings.was_server_late(PERIOD)
        vectors = embedder.embed_queries(new, seconds=SHORT_WAIT if is_slow else None)
        if embedder.is_late:
            load_later(settings, identity, storage.embeddings.note_late_server)
        may_tell = "fingerprint" in identity and any(vectors)
        if may_tell and is_namesake(identity, embedder.fingerprint()):
            raise NamesakeError
        return vectors

    cache = storage.query_cache(settings["query_cache_size"])
    return cache.vectors(identity, texts, ask)


def _backlog(storage: "Storage") -> str | None:
    """Warn if so many chunks have no embedding that the answer may change once they have one."""
    # Few if none is pending: those that the model can never embed
    if storage.embeddings.count_without() <= BACKLOG * storage.keyword().size():
        return None
    pending, total = storage.embeddings.count_pending(), storage.chunks.count()
    if pending <= BACKLOG * total:
        return None
    return Message(
        f"{pending:,} of {total:,} chunks have no embedding yet: found by keyword alone",
        WayOut("update", "update", "makes them"),
    )


def _settings_name_another(settings: "Settings", identity: "Identity") -> str | None:
    """Warn if the settings choose another model than the one whose embeddings answer."""
    wanted = replacement(settings, identity)
    if wanted is None:
        return None
    old_name, new_name = name_of(identity), name_of(identity_of(wanted))
    if old_name == new_name:
        problem = f"answering with embeddings made with {differing(identity, wanted)}"
        way_out = WayOut("update", "update", "makes new embeddings")
    else:
        problem = f"answering with the embeddings of {old_name}"
        way_out = WayOut("update", "update", f"has made those of {new_name}")
    return Message(problem, way_out, " until ")


def _why_no_vector(
    storage: "Storage",
    settings: "Settings",
    embedder: "Callable[[], Embedder | None]",
    identity: "Identity | None",
    mode: str,
) -> str | None:
    """Explain why the query cannot be embedded; None if it can."""
    if settings["provider"] == "none" and not embedder():
        if mode == "hybrid":
            return None
        return 'the provider is "none": there is no search by meaning'
    if identity is None:
        if not storage.embeddings.count_pending():
            return None  # nothing waits for an embedding
        once = ""
        if settings["provider"] == "ollama":
            once = " once Ollama is up (`ollama serve`)"
        way_out = WayOut("update", "update", f"makes them{once}")
        return Message(f"no chunk has an embedding yet{_fallback_note(mode)}", way_out)
    model = embedder()
    if model is None:
        name = identity["provider"]
        return (
            f"the store's embeddings are {name}'s{_fallback_note(mode)}; "
            f"name that provider with --provider {name}"
        )
    following = storage.embeddings.spare.next_identity()
    if (
        following
        and name_of(following) == name_of(identity)
        and following.get("fingerprint") != identity.get("fingerprint")
    ):
        return _namesake(mode)
    return conflict(identity, model, _fallback_note(mode))


def _namesake(mode: str) -> str:
    effect = f"embeds all chunks with the new one{_fallback_note(mode)}"
    return Message(NAMESAKE, WayOut("update", "update", effect))


def _fallback_note(mode: str) -> str:
    return ": answering by keyword" if mode == "hybrid" else ""
