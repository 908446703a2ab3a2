"""The embedding providers, and which of them the settings choose.

A new provider is a module here, a row in TABLE and a name in `config.PROVIDERS`. A module is imported when it is chosen.
"""

from collections.abc import Mapping
from importlib import import_module

from ..typed.names import TYPE_CHECKING, Any, NamedTuple
from .identity import conflict

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
    """The embedder that the settings choose for all texts from now on; None for the provider "none".

    `identity` is the identity of the store's embeddings, or None if it has none. The provider "auto" takes Ollama if that answers
    and has the model, else the built-in embedder; but a store that has the embeddings of another one keeps that. If that is
    remote, "auto" gives None, because only a user may choose a remote provider.
    """
    name = settings["provider"]
    if name == "none":
        return None
    if name != "auto":
        return _made(TABLE[name], settings, {})
    if identity and identity["provider"] != "builtin":
        changes = {"model": identity["model"], "dims": None}
        return _made(TABLE[identity["provider"]], settings, changes) if _is_allowed(settings, identity) else None
    ollama = _made(TABLE["ollama"], settings, {})
    return ollama if ollama.is_available() else _made(TABLE["builtin"], settings, {})


def fitting(settings: "Settings", identity: Mapping[str, Any]) -> "Embedder | None":
    """The embedder that made the store's embeddings, whatever the settings choose for later; None if it may not be asked.

    A query's text goes to a remote provider only if the settings name it.
    """
    if not _is_allowed(settings, identity):
        return None
    provider = TABLE[identity["provider"]]
    if settings["provider"] == identity["provider"]:
        chosen = _made(provider, settings, {})
        if not conflict(identity, chosen):
            return chosen
    return _made(provider, settings, {key: identity[key] for key in ("model", "dims", "query_prompt", "document_prompt")})


def _is_allowed(settings: "Settings", identity: Mapping[str, Any]) -> bool:
    chosen, name = settings["provider"], identity["provider"]
    return chosen != "none" and name in TABLE and (not TABLE[name].is_remote or chosen == name)


def _made(provider: Provider, settings: "Settings", changes: Mapping[str, Any]) -> "Embedder":
    values = {name: settings[name] for name in provider.options}
    values |= {name: value for name, value in changes.items() if name in provider.options}
    if provider.url_key:
        values["base_url"] = settings[provider.url_key]
    values = {name: value for name, value in values.items() if value is not None}
    made: Embedder = getattr(import_module(f"{__package__}.{provider.module}"), provider.embedder)(**values)
    return made
