"""The identity of embeddings: provider, model, prompts and dimensions.

Vectors of two models cannot be compared, so all vectors of a store have one identity. If the
configured embedder has another identity, the store's model is used for queries until an ingest or
`reindex` has made all vectors again.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import Message, WayOut

if TYPE_CHECKING:
    from .interface import Embedder

MISFIT = Message(
    "the model's vectors no longer fit the store",
    WayOut("reindex", "reindex --embeddings", "makes new embeddings"),
)
NAMESAKE = "the store's embeddings were made by another model of the same name"
NOT_MIXED = Message(NAMESAKE, WayOut("update", "update", "embeds all chunks with the new one"))


def identity_of(embedder: "Embedder") -> dict[str, Any]:
    """The identity of an embedder's vectors without their dimensions, which are known only after
    the first vector.
    """
    return {
        "provider": embedder.provider,
        "model": embedder.model.removesuffix(":latest"),
        "query_prompt": embedder.query_prompt,
        "document_prompt": embedder.document_prompt,
    }


def conflict(
    theirs: "Mapping[str, object] | None", embedder: "Embedder", effect: str = ""
) -> str | None:
    """Explain in one line, with the remedy, why the embedder's vectors cannot be compared with the
    store's; None if they can.

    `effect` is the consequence, such as ": answering by keyword".
    """
    what = differing(theirs, embedder)
    if not what:
        return None
    way_out = WayOut("update", "update", "makes new embeddings")
    return Message(f"the store's embeddings were made with {what}{effect}", way_out)


def differing(theirs: "Mapping[str, object] | None", embedder: "Embedder") -> str | None:
    """How the store's embeddings differ from this embedder's: "model 'a', not 'b'"; None if they do
    not differ.
    """
    if theirs is None:
        return None
    ours, wanted_dims = identity_of(embedder), embedder.wanted_dims
    if unlike := [key for key in ours if ours[key] != theirs[key]]:
        return " and ".join(
            f"{key.replace('_', ' ')} {theirs[key]!r}, not {ours[key]!r}" for key in unlike
        )
    if wanted_dims and wanted_dims != theirs["dims"]:
        return f"{theirs['dims']} dimensions, not {wanted_dims}"
    return None


def is_namesake(theirs: "Mapping[str, object] | None", fingerprint: str | None) -> bool:
    """Whether the store's embeddings were made by another model of the same name."""
    of_store = (theirs or {}).get("fingerprint")
    return bool(of_store and fingerprint and of_store != fingerprint)


def why_not_working(theirs: "Mapping[str, object] | None", embedder: "Embedder") -> str | None:
    """Embed a word, and explain in one line why the embedder does not work with the store's
    embeddings; None if it does.
    """
    if not embedder.is_available():
        return embedder.problem or "it does not answer"
    return NOT_MIXED if is_namesake(theirs, embedder.fingerprint()) else None


def with_fallback_note(problem: str, identity: "Mapping[str, object] | None") -> str:
    """Add to a server's problem how it affects searches of embeddings with this identity."""
    if identity and is_minilm(identity):
        return f"{problem}; meanwhile, the built-in model embeds queries, which finds less"
    return f"{problem}; meanwhile, searches answer by keyword"


def is_minilm(identity: "Mapping[str, object]") -> bool:
    """Whether embeddings were made by a server with all-MiniLM-L6-v2. On Ollama, all-minilm:33m is
    all-MiniLM-L12-v2.
    """
    name = str(identity["model"]).lower()
    is_other = "33m" in name or "l12" in name
    return identity["dims"] == 384 and name.startswith("all-minilm") and not is_other


def name_of(identity: "Mapping[str, object]") -> str:
    """The model of an identity, for messages: "ollama nomic-embed-text"."""
    return f"{identity['provider']} {identity['model']}".strip()
