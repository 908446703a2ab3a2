"""Which model made the embeddings of a store, and whether an embedder may add to them.

Vectors of two models cannot be compared, so all vectors of a store have one identity: provider, model, prompts and dimensions. If
the embedder's identity differs, the store keeps its vectors and gets no others until an ingest or `reindex` changes the model.
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

OTHER_DIMENSIONS = "the model now gives vectors of another dimension: all chunks are embedded anew"
OTHER_MODEL = "another model has the name of the one that made the store's embeddings: "
EMBEDDED_ANEW = OTHER_MODEL + "all chunks are embedded anew"
NOT_MIXED = OTHER_MODEL + "nothing is embedded until the next `hybrid-memory ingest`, which embeds all chunks anew"


def identity_of(embedder: "Embedder") -> dict[str, Any]:
    """The identity of an embedder's vectors without their dimensions, which are known after the first vector."""
    return {
        "provider": embedder.provider,
        "model": embedder.model.removesuffix(":latest"),
        "query_prompt": embedder.query_prompt,
        "document_prompt": embedder.document_prompt,
    }


def conflict(theirs: "Mapping[str, object] | None", embedder: "Embedder") -> str | None:
    """Why the embedder's vectors cannot be compared with the store's, in one line with the remedy; None if they can."""
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
    """A line that says what would make searches better; None if there is nothing to say."""
    return BUILTIN_ADVICE if identity and identity["provider"] == "builtin" else None
