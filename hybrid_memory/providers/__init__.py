"""Which embedder the settings name. Those beside Ollama's are one file each, imported only when chosen."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..config import Settings
    from ..embedder import Embedder

LOCAL = ("ollama", "builtin", "local")  # what "auto" may go on with: a remote one has to be named


def make(settings: "Settings", identity: Mapping[str, Any] | None) -> "Embedder | None":
    """The embedder of config keys `provider`, `model`, `dims` and so on; None for the provider "none".

    `identity` is that of the store's embeddings so far. The provider "auto" stays with it, and with its model unless another
    was chosen; None if it is remote. For a store without embeddings it is Ollama, if that answers and has the model, else
    the built-in one.
    """
    provider = settings["provider"]
    names = ("model", "cache_size", "dims", "query_prompt", "document_prompt", "query_timeout")
    options = {name: settings[name] for name in names if settings[name] is not None}
    if provider == "auto" and identity:
        provider = identity["provider"]
        if provider not in LOCAL:
            return None
        if "model" not in settings.chosen:
            options |= {"model": identity["model"], "dims": None}
    return None if provider == "none" else _made(provider, settings, options)


def _made(provider: str, settings: "Settings", options: dict[str, Any]) -> "Embedder":
    if provider == "builtin":
        from .builtin import BuiltinEmbedder

        return BuiltinEmbedder()
    if provider in ("ollama", "auto"):
        from ..embedder import OllamaEmbedder

        ollama = OllamaEmbedder(settings["ollama_url"], **options)
        return ollama if provider == "ollama" or ollama.is_available() else _made("builtin", settings, options)
    if provider == "local":
        from .local import LocalEmbedder

        return LocalEmbedder(**options)
    if settings["base_url"]:
        options["base_url"] = settings["base_url"]
    if provider == "openai":
        from .openai import OpenAIEmbedder

        return OpenAIEmbedder(**options)
    if provider == "gemini":
        from .gemini import GeminiEmbedder

        return GeminiEmbedder(**options)
    from .voyage import VoyageEmbedder

    return VoyageEmbedder(**options)
