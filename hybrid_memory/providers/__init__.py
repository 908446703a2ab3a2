"""Which embedder the settings name. Those beside Ollama's are one file each, imported only when chosen."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..embedder import Embedder


def make(settings: dict[str, Any]) -> "Embedder | None":
    """The embedder of config keys `provider`, `model`, `dims` and so on; None for the provider "none"."""
    provider = settings["provider"]
    if provider == "none":
        return None
    names = ("model", "cache_size", "dims", "query_prompt", "document_prompt", "query_timeout")
    options = {name: settings[name] for name in names if settings[name] is not None}
    if provider == "ollama":
        from ..embedder import OllamaEmbedder

        return OllamaEmbedder(settings["ollama_url"], **options)
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
