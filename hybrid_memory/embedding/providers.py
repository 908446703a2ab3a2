"""The embedding providers, and which of them the settings choose.

A new provider is a module here, a row in TABLE and a name in `config.PROVIDERS`. A module is imported when it is chosen.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..config import Settings
    from .protocol import Embedder

OPTIONS = ("model", "cache_size", "dims", "query_prompt", "document_prompt", "query_timeout")


class Provider(NamedTuple):
    """The module and class of a provider's embedder, and the config keys it takes; `url_key` is the key of its URL."""

    module: str
    embedder: str
    options: tuple[str, ...] = OPTIONS
    url_key: str | None = None
    is_remote: bool = False


TABLE = {
    "ollama": Provider("ollama", "OllamaEmbedder", url_key="ollama_url"),
    "builtin": Provider("builtin", "BuiltinEmbedder", options=()),
    "local": Provider("local", "LocalEmbedder"),
    "openai": Provider("openai", "OpenAIEmbedder", url_key="base_url", is_remote=True),
    "gemini": Provider("gemini", "GeminiEmbedder", url_key="base_url", is_remote=True),
    "voyage": Provider("voyage", "VoyageEmbedder", url_key="base_url", is_remote=True),
}


def make(settings: "Settings", identity: Mapping[str, Any] | None) -> "Embedder | None":
    """The embedder that the settings choose; None for the provider "none".

    `identity` is the identity of the store's embeddings, or None if it has none. The provider "auto" keeps the provider of that
    identity, and its model unless the settings name another one. If that provider is remote, "auto" gives None, because only a
    user may choose a remote one. For a store without embeddings, "auto" takes Ollama if that answers and has the model, else the
    built-in embedder.
    """
    provider, changes = settings["provider"], {}
    if provider == "none":
        return None
    if provider == "auto" and identity:
        provider = identity["provider"]
        if provider not in TABLE or TABLE[provider].is_remote:
            return None
        if "model" not in settings.chosen:
            changes = {"model": identity["model"], "dims": None}
    if provider != "auto":
        return _made(TABLE[provider], settings, changes)
    ollama = _made(TABLE["ollama"], settings, changes)
    return ollama if ollama.is_available() else _made(TABLE["builtin"], settings, changes)


def _made(provider: Provider, settings: "Settings", changes: Mapping[str, Any]) -> "Embedder":
    values = {name: settings[name] for name in provider.options if settings[name] is not None}
    values |= {name: value for name, value in changes.items() if name in provider.options}
    if provider.url_key and settings[provider.url_key]:
        values["base_url"] = settings[provider.url_key]
    made: Embedder = getattr(import_module(f"{__package__}.{provider.module}"), provider.embedder)(**values)
    return made
