"""The settings: defaults < config.json < HYBRID_MEMORY_* environment < command line."""

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from reprlib import repr as short_repr
from typing import Any

from .addresses import address_fault, is_server, looks_like_address
from .errors import ConfigError, UsageError, suggestion
from .paths import (
    CONFIG,
    DATABASE,
    PREFIX,
    config_file,
    standard_database,
    user_config_file,
    user_database,
)
from .registry import PROVIDERS, RERANKERS

MAXIMUM = 10**9  # larger numbers do not fit into SQLite, into memory or into a timer


class Key:
    """A setting: its name, its default, and the values that it accepts.

    `least` and `most` bound a number. `choices` are the only texts accepted, if there are any.
    `check` replaces the check of the type. `optional`: null is accepted.
    """

    def __init__(
        self,
        name: str,
        type: type,
        default: Any,
        *,
        least: int = 0,
        most: int = MAXIMUM,
        choices: Sequence[str] = (),
        check: "Callable[[Key, Any], Any] | None" = None,
        optional: bool = False,
    ) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.least = least
        self.most = most
        self.choices = choices
        self.check = check
        self.optional = optional


def _typed(key: Key, value: Any) -> Any:
    """Return the value. Raises ValueError if it is not of the key's type, as all checks do."""
    if type(value) is not key.type or value != value:  # NaN differs from itself
        raise ValueError(f"is {short_repr(value)}, not {_TYPE_NAMES[key.type]}")
    return value


def _number(key: Key, value: Any) -> Any:
    if type(value) in (int, float) and value == value:
        if not key.least <= value <= key.most:
            raise ValueError(f"must be at least {key.least} and at most {key.most:,}")
        if key.type is float:
            value = float(value)
    return _typed(key, value)


def _text(key: Key, value: Any) -> Any:
    if not _is_text(_typed(key, value)):
        raise ValueError(f"is {short_repr(value)}; it contains an invalid character")
    if key.choices and value not in key.choices:
        raise ValueError(f"is {short_repr(value)}, not one of {', '.join(key.choices)}")
    return value


def _template(key: Key, value: Any) -> Any:
    if "{text}" not in _text(key, value):
        raise ValueError("does not contain {text}")
    return value


def _database(key: Key, value: Any) -> Any:
    """As `_text`, but a path may have bytes that are not Unicode. No message shows a password."""
    fault = address_fault(_typed(key, value))
    if fault:
        raise ValueError(fault)
    if not _is_text(value, os.fsencode):
        raise ValueError("contains an invalid character")
    return value


def _names(key: Key, value: Any) -> Any:
    names = _typed(key, _split(value))
    if not (names and all(map(_is_name, names))):
        raise ValueError(f"is {short_repr(names)}, not {_TYPE_NAMES[list]}")
    return names


def _split(value: Any) -> Any:
    """Parse a list from JSON, as `config` prints it, or from names separated by commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith(("[", "{", '"')):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return [part.strip() for part in value.split(",")]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _is_text(value)


def _is_text(value: str, encode: Callable[[str], bytes] = str.encode) -> bool:
    """Whether a server and SQLite accept the value as a text, or the system as a path."""
    try:
        encode(value)
    except UnicodeEncodeError:
        return False
    return "\0" not in value


_CHECKS: dict[type, Callable[[Key, Any], Any]] = {
    bool: _typed,
    int: _number,
    float: _number,
    str: _text,
    list: _names,
}
_TYPE_NAMES = {
    str: "a string",
    list: 'a list of strings, as in date,created or ["date", "created"]',
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}
_WORDS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
MODES = ("hybrid", "keyword", "vector")  # of a search
_ROWS = (
    Key("db_path", str, DATABASE, check=_database),
    # A PostgreSQL database may have several spaces
    Key("space", str, "default"),
    # "auto" is decided at a store's first embedding: Ollama if it embeds a word, else builtin
    Key("provider", str, "auto", choices=("auto", *PROVIDERS, "none")),
    Key("ollama_url", str, "http://localhost:11434"),
    # URL of any other provider; null: its usual one
    Key("base_url", str, None, optional=True),
    # null: the provider's default model
    Key("model", str, "nomic-embed-text", optional=True),
    # null: as many as the model gives
    Key("dims", int, 768, least=1, optional=True),
    # characters
    Key("chunk_size", int, 512, least=1),
    Key("chunk_overlap", int, 50),
    # null: the query and the model decide; the rest of 1 if only the other one is set
    Key("keyword_weight", float, None, optional=True),
    Key("vector_weight", float, None, optional=True),
    # A dated document's score halves in this time; 0: scores do not age
    Key("half_life_days", float, 0.0),
    # Read changed files before each search
    Key("refresh", bool, False),
    Key("mode", str, "hybrid", choices=MODES),
    Key("limit", int, 10, least=1),
    Key("min_score", float, 0.0, most=1),
    Key("min_confidence", float, 0.0, most=1),
    # The least share of the best score
    Key("stop", float, 0.0, most=1),
    # Results per document; null or 0: any number
    Key("per_doc", int, None, optional=True),
    # Query embeddings kept in memory
    Key("cache_size", int, 256),
    # Embeddings kept in case a removed text comes back; those of deleted documents are not kept
    Key("old_embeddings_mb", float, 50.0),
    Key("old_embeddings_days", float, 30.0),
    # Query embeddings kept in the database
    Key("query_cache_size", int, 1000),
    # Seconds of wall time that a search waits for the query's embedding
    Key("query_timeout", float, 10.0),
    Key("rerank", str, "none", choices=("none", *RERANKERS)),
    # null: the reranker's usual URL and model
    Key("rerank_url", str, None, optional=True),
    Key("rerank_model", str, None, optional=True),
    # Passages that are reranked
    Key("rerank_limit", int, 30, least=1),
    # Share of the reranker's score; the merged score has the rest
    Key("rerank_weight", float, 0.5, most=1),
    # Seconds of wall time that a search waits for the reranker
    Key("rerank_timeout", float, 10.0),
    # Such as "search_query: {text}"; null: the model's own prompt, if it is known
    Key("query_prompt", str, None, check=_template, optional=True),
    Key("document_prompt", str, None, check=_template, optional=True),
    Key("max_file_bytes", int, 10_000_000, least=1),
    # Front matter keys that may date a document whose path has no date, best first
    Key(
        "date_keys",
        list,
        (
            "date created created_at created_on date_created creation_date updated updated_at "
            "last_updated date_updated modified modified_at last_modified date_modified published "
            "published_at date_published"
        ).split(),
    ),
)
KEYS = {key.name: key for key in _ROWS}
DEFAULTS: dict[str, Any] = {key.name: key.default for key in _ROWS}
SEARCH = ("refresh", "rerank")  # keys that are also options of `search`
# The layers, as messages name them
THE_DEFAULTS = "the defaults"
OLLAMA_HOST = "OLLAMA_HOST"  # Ollama's own variable, which tells where its server is
LIBRARY = "config"
ENVIRONMENT = "the environment (HYBRID_MEMORY_*)"
COMMAND_LINE = "the command line"
OF_TESTS = "HYBRID_MEMORY_TEST_"  # variables of this project's own tests


class Settings(dict[str, Any]):
    """Checked values of all keys.

    `chosen` are the keys that a config file, a variable, an option or a program sets. `origins`
    maps each key to the layer that decided it and the key in that layer: a provider also decides
    its model.
    """

    chosen: frozenset[str] = frozenset()
    origins: Mapping[str, tuple[str, str]] = {}


def merge_layers(*layers: tuple[str, Mapping[str, Any]]) -> Settings:
    """The defaults, overridden by named layers: a later layer overrides an earlier one.

    If a layer names a provider but no model, the provider's default model is used. If it names a
    provider or another model but no dims, the model decides the dims. A layer that names a model or
    a URL of Ollama other than the default chooses Ollama, unless a layer has named a provider;
    OLLAMA_HOST chooses nothing. A reranker's URL and model do not apply to another reranker. Every
    value is checked; ConfigError names the layer of a wrong one.
    """
    settings = Settings(DEFAULTS)
    origin = {key: (THE_DEFAULTS, key) for key in DEFAULTS}
    for name, layer in layers:
        is_another = "model" in layer and layer["model"] != settings["model"]
        if "provider" in layer and "model" not in layer:
            settings["model"] = None
            origin["model"] = (name, "provider")
        if "provider" in layer or is_another:
            settings["dims"] = None
            origin["dims"] = (name, "model" if "model" in layer else "provider")
        reranker = layer.get("rerank", settings["rerank"])
        if settings["rerank"] not in ("none", reranker):  # the layer changes the reranker
            for key in ("rerank_url", "rerank_model"):
                settings[key] = None
                origin[key] = (name, "rerank")
        for key, value in layer.items():
            settings[key] = _checked(name, key, value)
            origin[key] = (name, key)
        settings.chosen |= layer.keys()
        of_ollama = [
            key
            for key in ("model", "ollama_url")
            if key in layer and settings[key] != DEFAULTS[key]
        ]
        if of_ollama and name != OLLAMA_HOST and "provider" not in settings.chosen:
            settings["provider"] = "ollama"
            origin["provider"] = (name, of_ollama[0])
    settings.origins = origin
    _check_together(settings, {key: name for key, (name, _) in origin.items()})
    return settings


def load(
    path: str | None, options: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> Settings:
    """The settings of a command.

    `path` is the value of --config, `options` are the command line's values by config key.
    """
    file = config_file(path, environ)
    # A config file named by the user must exist.
    is_read = path or environ.get(CONFIG) or os.path.exists(file)
    host = environ.get(OLLAMA_HOST)
    usual = {"db_path": standard_database(environ), "ollama_url": DEFAULTS["ollama_url"]}
    values = read(file) if is_read else {}
    settings = merge_layers(
        (THE_DEFAULTS, usual),
        (OLLAMA_HOST, {"ollama_url": host} if host else {}),
        # A file that lists the defaults hides neither OLLAMA_HOST nor the memory of a workspace
        (file, {key: value for key, value in values.items() if (key, value) not in usual.items()}),
        _environment(environ),
        (COMMAND_LINE, options),
    )
    settings["db_path"] = os.path.expanduser(settings["db_path"])
    return settings


def _checked(source: str, name: str, value: Any) -> Any:
    """Convert a value to the type of its key. Raises ConfigError with the name of the source."""
    key = KEYS.get(name)
    if key is None:
        known = ", ".join(KEYS)
        raise _error(source, f"unknown key {short_repr(name)} in {source}; known: {known}")
    if value is None and key.optional:
        return None
    check = key.check or _CHECKS[key.type]
    try:
        return check(key, value)
    except ValueError as error:
        raise _error(source, f"{name} in {source} {error}") from None


def _check_together(settings: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    """Check the keys that must fit each other. Raises ConfigError."""
    if settings["chunk_overlap"] >= settings["chunk_size"]:
        raise _error(
            _last(origin, "chunk_size", "chunk_overlap"),
            f"chunk_overlap ({settings['chunk_overlap']}, from {origin['chunk_overlap']}) must be less than "
            f"chunk_size ({settings['chunk_size']}, from {origin['chunk_size']})",
        )
    if settings["keyword_weight"] == settings["vector_weight"] == 0:
        raise _error(
            _last(origin, "keyword_weight", "vector_weight"),
            "keyword_weight and vector_weight are both 0",
        )


def _last(origin: Mapping[str, str], *keys: str) -> str:
    sources = [origin[key] for key in keys]
    if COMMAND_LINE in sources:
        return COMMAND_LINE
    return sources[-1]


def _error(source: str, message: str) -> ConfigError:
    if source == COMMAND_LINE:
        return UsageError(message)
    return ConfigError(message)


def _environment(environ: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """The layer of HYBRID_MEMORY_<KEY> variables.

    They are one layer, so that a model and its dims stay together.
    """
    values: dict[str, Any] = {}
    variables = {f"{PREFIX}{key.upper()}": key for key in DEFAULTS}
    for name in environ:
        if name.startswith(PREFIX) and name not in (CONFIG, *variables):
            _refuse_unknown(name, [CONFIG, *variables])
    for name, key in variables.items():
        text = environ.get(name)
        if text:
            values[key] = from_text(key, text, name)
    return ENVIRONMENT, values


def _refuse_unknown(name: str, variables: Iterable[str]) -> None:
    """Raise ConfigError for an unknown variable, except those of this project's own tests."""
    if name.startswith(OF_TESTS):
        return
    keys = [variable.removeprefix(PREFIX) for variable in variables]
    near = suggestion(name.removeprefix(PREFIX), keys).replace("mean ", f"mean {PREFIX}")
    way_out = near or "; `hybrid-memory config` lists the settings"
    raise ConfigError(f"there is no setting for the variable {name}{way_out}")


def from_text(key: str, text: str, name: str) -> Any:
    """Parse the text of a variable or an argument. Raises ConfigError with `name`, its name."""
    kind = KEYS[key].type
    try:
        if kind is bool:
            return _WORDS[text.lower()]
        if kind is list:
            return _split(text)
        return kind(text)
    except (ValueError, KeyError):
        raise ConfigError(f"{name}={short_repr(text)} is not {_TYPE_NAMES[kind]}") from None


def known_databases(checkouts: Iterable[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """The existing database files that the environment, the config files or an installation name.

    The disk is not searched.
    """
    databases = [environ.get("HYBRID_MEMORY_DB_PATH", ""), user_database(environ)]
    files = [environ.get(CONFIG, ""), user_config_file(environ)]
    for checkout in checkouts:
        databases.append(os.path.join(checkout, DATABASE))
        files.append(os.path.join(checkout, "config.json"))
    for file in filter(os.path.isfile, map(os.path.expanduser, files)):
        with suppress(ConfigError):
            databases.append(str(read(file).get("db_path", "")))
    real = [
        os.path.realpath(os.path.expanduser(path))
        for path in filter(None, databases)
        if not looks_like_address(path)
    ]
    return list(dict.fromkeys(filter(os.path.isfile, real)))


def read(path: str) -> dict[str, Any]:
    """Read the keys of a config file. A relative db_path in it is relative to the file's folder."""
    path = os.path.expanduser(path)
    try:
        with open(path, encoding="utf-8-sig") as file:
            values = json.load(file, object_pairs_hook=each_once)
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the config file {path} is not UTF-8 at byte {error.start}") from error
    except ValueError as error:
        raise ConfigError(f"the config file {path} is not valid JSON: {error}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"the config file {path} must contain one JSON object")
    database = values.get("db_path")
    if isinstance(database, str) and not address_fault(database) and not is_server(database):
        folder = os.path.dirname(os.path.abspath(path))
        values["db_path"] = os.path.join(folder, os.path.expanduser(database))
    return values


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make the dict of a JSON object, for `json.loads`. Raises ValueError for a repeated key."""
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {short_repr(key)} appears twice")
        values[key] = value
    return values
