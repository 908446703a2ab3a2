"""Where settings come from: defaults < config.json < HYBRID_MEMORY_* environment < command line."""

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from .errors import ConfigError, UsageError

DEFAULTS: dict[str, Any] = {
    "db_path": "data/hybrid_search.db",
    "provider": "auto",  # when a store gets its first embedding: Ollama if it answers and has the model, else builtin
    "ollama_url": "http://localhost:11434",
    "base_url": None,  # of the other providers; null: their own
    "model": "nomic-embed-text",  # null: the provider's own
    "dims": 768,  # null: whatever the model gives
    "chunk_size": 512,  # characters
    "chunk_overlap": 50,  # characters
    "keyword_weight": 0.3,
    "vector_weight": 0.7,
    "half_life_days": 0.0,  # of the scores of dated documents; 0: they do not age
    "cache_size": 256,  # query embeddings kept in memory
    "query_cache_size": 1000,  # query embeddings kept in the database
    "query_timeout": 10.0,  # seconds of wall time that a search waits for the embedding of its query
    "query_prompt": None,  # "search_query: {text}"; null: the model's own, where it is known
    "document_prompt": None,
    "max_file_bytes": 10_000_000,
}
OPTIONAL = {"base_url", "model", "dims", "query_prompt", "document_prompt"}  # may be null
PROVIDERS = ("auto", "ollama", "builtin", "openai", "gemini", "voyage", "local", "none")
MINIMUM = {
    "dims": 1,
    "chunk_size": 1,
    "chunk_overlap": 0,
    "keyword_weight": 0,
    "vector_weight": 0,
    "half_life_days": 0,
    "cache_size": 0,
    "query_cache_size": 0,
    "query_timeout": 0,
    "max_file_bytes": 1,
}
TYPES: dict[str, type] = {key: str if value is None else type(value) for key, value in DEFAULTS.items()}
ENVIRONMENT, COMMAND_LINE, LIBRARY = "the environment (HYBRID_MEMORY_*)", "the command line", "config"
CHECKOUT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Settings(dict[str, Any]):
    """Checked values of all keys; `chosen` are those that somebody set to something else than is shipped."""

    chosen: frozenset[str] = frozenset()


def merged(*layers: tuple[str, Mapping[str, Any]]) -> Settings:
    """Named layers over the defaults, later ones winning, each value checked.

    A layer that names a provider without a model leaves the model to the provider, one that names either without dims leaves
    dims to what the model gives. To name a model or Ollama's URL elsewhere than in a config file, which ships with both, is
    to choose Ollama. Raises ConfigError with the layer's name.
    """
    settings, origin = Settings(DEFAULTS), dict.fromkeys(DEFAULTS, "the defaults")
    for name, layer in layers:
        by_person = name in (ENVIRONMENT, COMMAND_LINE, LIBRARY)
        if "provider" in layer and "model" not in layer:
            settings["model"] = settings["dims"] = None
        elif by_person and settings["provider"] == "auto" and layer.keys() & {"ollama_url", "model"}:
            settings["provider"] = "ollama"
        if "model" in layer:
            settings["dims"] = None
        for key, value in layer.items():
            settings[key] = _checked(name, key, value)
            origin[key] = name
            if by_person or settings[key] != DEFAULTS[key]:
                settings.chosen |= {key}
    _check_together(settings, origin)
    return settings


def load(path: str | None, options: Mapping[str, Any], environ: Mapping[str, str] = os.environ) -> Settings:
    """The command's settings: `path` is --config, `options` what the command line set, by config key."""
    file = path or environ.get("HYBRID_MEMORY_CONFIG") or _standard_file(environ)
    settings = merged(
        ("the defaults", {"db_path": _standard_database(environ)}),
        (file or "", _read(file) if file else {}),
        *_environment(environ),
        (COMMAND_LINE, options),
    )
    settings["db_path"] = os.path.expanduser(settings["db_path"])
    return settings


def _checked(source: str, key: str, value: Any) -> Any:
    if key not in DEFAULTS:
        raise _error(source, f"unknown key {key!r} in {source}; known: {', '.join(DEFAULTS)}")
    kind: Any = TYPES[key]
    if value is None and key in OPTIONAL:
        return None
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        raise _error(source, f"{key} in {source} is {value!r}, not {_NAMES[kind]}")
    if key in MINIMUM and value < MINIMUM[key]:
        raise _error(source, f"{key} in {source} is {value}; it must be at least {MINIMUM[key]}")
    if key == "provider" and value not in PROVIDERS:
        raise _error(source, f"provider in {source} is {value!r}, not one of {', '.join(PROVIDERS)}")
    if key.endswith("_prompt") and "{text}" not in value:
        raise _error(source, f"{key} in {source} has no {{text}} in it")
    return value


_NAMES = {str: "a string", int: "a whole number", float: "a number"}


def _check_together(settings: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    if settings["chunk_overlap"] >= settings["chunk_size"]:
        raise _error(
            _last(origin, "chunk_size", "chunk_overlap"),
            f"chunk_overlap ({settings['chunk_overlap']}, from {origin['chunk_overlap']}) must be less than "
            f"chunk_size ({settings['chunk_size']}, from {origin['chunk_size']})",
        )
    if settings["keyword_weight"] + settings["vector_weight"] == 0:
        raise _error(_last(origin, "keyword_weight", "vector_weight"), "keyword_weight and vector_weight are both 0")


def _last(origin: Mapping[str, str], *keys: str) -> str:
    sources = [origin[key] for key in keys]
    return COMMAND_LINE if COMMAND_LINE in sources else sources[-1]


def _error(source: str, message: str) -> ConfigError:
    return UsageError(message) if source == COMMAND_LINE else ConfigError(message)


def _read(path: str) -> dict[str, Any]:
    """A config file's keys, its relative db_path made relative to the file."""
    path = os.path.expanduser(path)
    try:
        with open(path, encoding="utf-8-sig") as file:
            values = json.load(file)
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"the config file {path} is not JSON: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"the config file {path} must hold one JSON object")
    if isinstance(values.get("db_path"), str):
        values["db_path"] = os.path.join(os.path.dirname(os.path.abspath(path)), os.path.expanduser(values["db_path"]))
    return values


def _environment(environ: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """HYBRID_MEMORY_<KEY> variables; OLLAMA_HOST stands in for ollama_url. One layer, so that model and dims go together."""
    values: dict[str, Any] = {}
    if environ.get("OLLAMA_HOST"):
        values["ollama_url"] = environ["OLLAMA_HOST"]
    for key in DEFAULTS:
        name = f"HYBRID_MEMORY_{key.upper()}"
        raw = environ.get(name)
        if raw:
            try:
                values[key] = TYPES[key](raw)
            except ValueError:
                raise ConfigError(f"{name}={raw!r} is not {_NAMES[TYPES[key]]}") from None
    return [(ENVIRONMENT, values)]


def _in_checkout() -> bool:
    return os.path.exists(os.path.join(CHECKOUT, "pyproject.toml"))


def _standard_file(environ: Mapping[str, str]) -> str | None:
    """config.json of the checkout, else of the user; never of the working directory, which may be anyone's."""
    if _in_checkout():
        path = os.path.join(CHECKOUT, "config.json")
    else:
        path = os.path.join(_xdg(environ, "XDG_CONFIG_HOME", ".config"), "hybrid-memory", "config.json")
    return path if os.path.exists(path) else None


def _standard_database(environ: Mapping[str, str]) -> str:
    if _in_checkout():
        return os.path.join(CHECKOUT, DEFAULTS["db_path"])
    return os.path.join(_xdg(environ, "XDG_DATA_HOME", ".local/share"), "hybrid-memory", "hybrid_search.db")


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> str:
    """XDG Base Directory Specification 0.8: an unset or relative value counts as the default under $HOME."""
    value = environ.get(variable, "")
    return value if os.path.isabs(value) else os.path.join(os.path.expanduser("~"), fallback)
