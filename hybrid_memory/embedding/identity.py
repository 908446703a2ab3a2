"""Who made the embeddings of a store, and whether an embedder may add to them.

Vectors of two models cannot be compared, so a store holds those of one identity: provider, model, prompts and dimensions. A
store whose identity is not the embedder's keeps its vectors and gets no others until an ingest or `reindex` changes the model.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol import Embedder

BUILTIN_ADVICE = (
    "embedded by the built-in English model; one that reads whole sentences finds more by meaning: "
    "`ollama pull nomic-embed-text`, then `hybrid-memory reindex --embeddings --provider ollama`"
)

MISFIT = "the model's vectors do not fit the store's any more; `hybrid-memory reindex --embeddings` makes all anew"


def identity_of(embedder: "Embedder") -> dict[str, Any]:
    """The identity of an embedder's vectors, but for their dimensions, which the first vector tells."""
    return {
        "provider": embedder.provider,
        "model": embedder.model.removesuffix(":latest"),
        "query_prompt": embedder.query_prompt,
        "document_prompt": embedder.document_prompt,
    }


def conflict(theirs: "Mapping[str, object] | None", embedder: "Embedder") -> str | None:
    """Why the embedder's vectors cannot stand beside the store's, in a line with the way out; None if they can."""
    if theirs is None:
        return None
    ours, wanted_dims = identity_of(embedder), embedder.wanted_dims
    if differing := [key for key in ours if ours[key] != theirs[key]]:
        what = " and ".join(f"{key.replace('_', ' ')} {theirs[key]!r}, not {ours[key]!r}" for key in differing)
    elif wanted_dims and wanted_dims != theirs["dims"]:
        what = f"{theirs['dims']} dimensions, not {wanted_dims}"
    else:
        return None
    return f"the store's embeddings were made with {what}: answering by keyword; `hybrid-memory ingest` embeds anew"


def advice(identity: "Mapping[str, object] | None") -> str | None:
    """What would make searches better, in a line; None if nothing is known."""
    return BUILTIN_ADVICE if identity and identity["provider"] == "builtin" else None
