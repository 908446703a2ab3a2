"""Which model made the embeddings of a store, and whether an embedder may add to them.

Vectors of two models cannot be compared, so all vectors of a store have one identity: provider, model, prompts and dimensions. If
the embedder's identity differs, the store's own model answers until an ingest or `reindex` has made all vectors by the other one.
"""

from collections.abc import Mapping

from ..typed.names import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol import Embedder

BUILTIN_ADVICE = (
    "embedded by the built-in English model; one that reads whole sentences finds more by meaning: "
    "after `ollama pull nomic-embed-text`, the next ingest embeds with that"
)

MISFIT = "the model's vectors do not fit the store's any more; `hybrid-memory update` makes all anew"
NOT_MIXED = (
    "another model has the name of the one that made the store's embeddings; `hybrid-memory update` embeds all chunks by it"
)


def identity_of(embedder: "Embedder") -> dict[str, Any]:
    """The identity of an embedder's vectors without their dimensions, which are known after the first vector."""
    return {
        "provider": embedder.provider,
        "model": embedder.model.removesuffix(":latest"),
        "query_prompt": embedder.query_prompt,
        "document_prompt": embedder.document_prompt,
    }


def conflict(theirs: "Mapping[str, object] | None", embedder: "Embedder", effect: str = "") -> str | None:
    """Why the embedder's vectors cannot be compared with the store's, in one line with the remedy; None if they can.

    `effect` is what comes of it, such as ": answering by keyword".
    """
    what = differing(theirs, embedder)
    return what and f"the store's embeddings were made with {what}{effect}; `hybrid-memory update` embeds anew"


def differing(theirs: "Mapping[str, object] | None", embedder: "Embedder") -> str | None:
    """What the store's embeddings were made with, and not by this embedder: "model 'a', not 'b'"; None if nothing differs."""
    if theirs is None:
        return None
    ours, wanted_dims = identity_of(embedder), embedder.wanted_dims
    if unlike := [key for key in ours if ours[key] != theirs[key]]:
        return " and ".join(f"{key.replace('_', ' ')} {theirs[key]!r}, not {ours[key]!r}" for key in unlike)
    if wanted_dims and wanted_dims != theirs["dims"]:
        return f"{theirs['dims']} dimensions, not {wanted_dims}"
    return None


def name_of(identity: "Mapping[str, object]") -> str:
    """What users call the model of an identity: "ollama nomic-embed-text"."""
    return f"{identity['provider']} {identity['model']}".strip()
