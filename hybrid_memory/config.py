"""Where settings come from: defaults < config.json < HYBRID_MEMORY_* environment < command line.

A database is a file, or the address of a server; here it is decided which of them a text is.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from reprlib import repr as short_repr
from typing import Any

from .errors import ConfigError, UsageError, meant
from .seams import PROVIDERS, RERANKERS

DISTRIBUTION = "hybrid-memory-search"
CHECKOUT = os.path.dirname(
    os.path.dirname(os.path.abspath(__file__))
)  # the folder around this package

DEFAULTS: dict[str, Any] = {
    "db_path": "data/hybrid_search.db",
    "space": "default",  # of a database on a PostgreSQL server, which may have many
    # Decided when a store gets its first embedding: Ollama if it answers and has the model, else builtin
    "provider": "auto",
    "ollama_url": "http://localhost:11434",
    "base_url": None,  # URL of another provider than Ollama; null: its usual one
    "model": "nomic-embed-text",  # null: the default model of the provider
    "dims": 768,  # null: what the model gives
    "chunk_size": 512,  # characters
    "chunk_overlap": 50,  # characters
    "keyword_weight": 0.3,
    "vector_weight": 0.7,
    # The score of a dated document is halved with every so many days of age; 0: scores do not age
    "half_life_days": 0.0,
    "refresh": False,  # read what has changed before each search
    "mode": "hybrid",  # of a search: by words and meaning; "keyword" or "vector": by one of them
    "limit": 10,
    "min_score": 0.0,
    "min_confidence": 0.0,
    "per_doc": None,  # results of one document; null or 0: any number
    "cache_size": 256,  # query embeddings kept in memory
    # Of texts that left are kept, for texts that come back; what is deleted is not
    "old_embeddings_mb": 50.0,
    "old_embeddings_days": 30.0,
    "query_cache_size": 1000,  # query embeddings kept in the database
    # Seconds of wall time that a search waits for the embedding of its query
    "query_timeout": 10.0,
    "rerank": "none",  # what reorders the first passages of a search
    "rerank_url": None,  # of the reranker's server; null: where it usually is
    "rerank_model": None,  # null: the reranker's usual one
    "rerank_limit": 30,  # passages that it sees
    "rerank_weight": 0.5,  # of its score; the rest is that of the merged score
    "rerank_timeout": 10.0,  # seconds of wall time that a search waits for it
    # Such as "search_query: {text}"; null: the prompt of the model, if it is known
    "query_prompt": None,
    "document_prompt": None,
    "max_file_bytes": 10_000_000,
    # keys of the front matter that may date a document whose path does not, the best first
    "date_keys": (
        "date created created_at created_on date_created creation_date updated updated_at last_updated "
        "date_updated modified modified_at last_modified date_modified published published_at "
        "date_published"
    ).split(),
}
OPTIONAL = {  # these may be null
    *("base_url", "model", "dims", "query_prompt", "document_prompt"),
    *("per_doc", "rerank_url", "rerank_model"),
}
CHOICES = {
    "provider": ("auto", *PROVIDERS, "none"),
    "rerank": ("none", *RERANKERS),
    "mode": ("hybrid", "keyword", "vector"),
}
# The least value of every other number is 0
AT_LEAST_ONE = {"dims", "chunk_size", "limit", "rerank_limit", "max_file_bytes"}
MAXIMUM = 10**9  # of every number: larger ones do not fit into SQLite, into memory or into a timer
MOST = {"min_score": 1, "min_confidence": 1, "rerank_weight": 1}
SEARCH = ("refresh", "rerank")  # also options of `search`
TYPES: dict[str, type] = {
    key: str if value is None else type(value) for key, value in DEFAULTS.items()
} | {"per_doc": int}
WORDS = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
THE_DEFAULTS = "the defaults"
LIBRARY = "config"
ENVIRONMENT = "the environment (HYBRID_MEMORY_*)"
COMMAND_LINE = "the command line"
PREFIX = "HYBRID_MEMORY_"  # of a variable, before a key in capitals
CONFIG = "HYBRID_MEMORY_CONFIG"
OF_TESTS = "HYBRID_MEMORY_TEST_"  # what this project's own tests are told


class Settings(dict[str, Any]):
    """Checked values of all keys. `chosen` has the keys that a file, a variable, an option or a
    program names.

    `origins` has the layer that decided each key, and the key that this layer names for it: a
    provider decides its model, too.
    """

    chosen: frozenset[str] = frozenset()
    origins: Mapping[str, tuple[str, str]] = {}


def merged(*layers: tuple[str, Mapping[str, Any]]) -> Settings:
    """Return the defaults, overridden by named layers. A later layer overrides an earlier one. Every
    value is checked.

    If a layer names a provider but no model, the provider's default model is used. If it names a
    provider or a model but no dims, the model decides the dims. A layer that names a model or
    Ollama's URL, but no other provider, chooses Ollama. URL and model of a reranker do not pass to
    another one. Raises ConfigError with the name of the layer.
    """
    settings = Settings(DEFAULTS)
    origin = {key: (THE_DEFAULTS, key) for key in DEFAULTS}
    for name, layer in layers:
        if "provider" in layer and "model" not in layer:
            for key in ("model", "dims"):
                settings[key] = None
                origin[key] = (name, "provider")
        if "model" in layer:
            settings["dims"] = None
            origin["dims"] = (name, "model")
        reranker = layer.get("rerank", settings["rerank"])
        if settings["rerank"] not in ("none", reranker):  # another one is named
            for key in ("rerank_url", "rerank_model"):
                settings[key] = None
                origin[key] = (name, "rerank")
        for key, value in layer.items():
            settings[key] = _checked(name, key, value)
            origin[key] = (name, key)
        settings.chosen |= layer.keys()
        of_ollama = sorted(layer.keys() & {"ollama_url", "model"})
        if settings["provider"] == "auto" and of_ollama:
            settings["provider"] = "ollama"
            origin["provider"] = (name, of_ollama[0])
    settings.origins = origin
    _check_together(settings, {key: name for key, (name, _) in origin.items()})
    return settings


def load(
    path: str | None, options: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> Settings:
    """Return the settings of a command. `path` is the value of --config, `options` has what the command
    line sets, by config key.
    """
    file = in_force(path, environ)
    # A file that is named has to be there.
    is_read = path or environ.get(CONFIG) or os.path.exists(file)
    settings = merged(
        (THE_DEFAULTS, {"db_path": standard_database(environ)}),
        (file, read(file) if is_read else {}),
        *_environment(environ),
        (COMMAND_LINE, options),
    )
    settings["db_path"] = os.path.expanduser(settings["db_path"])
    return settings


def _checked(source: str, key: str, value: Any) -> Any:
    """Return the value, in the type of its key. Raises ConfigError with the name of the source."""
    if key not in DEFAULTS:
        keys = ", ".join(DEFAULTS)
        raise _error(source, f"unknown key {short_repr(key)} in {source}; known: {keys}")
    if value is None and key in OPTIONAL:
        return None
    kind: Any = TYPES[key]
    name = f"{key} in {source}"
    if kind in (int, float) and type(value) in (int, float) and value == value:  # not NaN
        least = 1 if key in AT_LEAST_ONE else 0
        most = MOST.get(key, MAXIMUM)
        if not least <= value <= most:
            raise _error(source, f"{name} must be at least {least} and at most {most:,}")
        if kind is float:
            value = float(value)
    if kind is list:
        value = _names(value)
    if type(value) is not kind or value != value:
        raise _error(source, f"{name} is {short_repr(value)}, not {_NAMES[kind]}")
    if kind is list and not (value and all(_is_name(part) for part in value)):
        raise _error(source, f"{name} is {short_repr(value)}, not {_NAMES[list]}")
    if key == "db_path":
        fault = address_fault(value)
        if fault:
            raise _error(source, f"{name} {fault}")
        if not _is_text(key, value):
            raise _error(source, f"{name} has a character that cannot be used there")
    if kind is str and not _is_text(key, value):
        problem = "it has a character that cannot be used there"
        raise _error(source, f"{name} is {short_repr(value)}; {problem}")
    if value not in CHOICES.get(key, (value,)):
        choices = ", ".join(CHOICES[key])
        raise _error(source, f"{name} is {short_repr(value)}, not one of {choices}")
    if key.endswith("_prompt") and "{text}" not in value:
        raise _error(source, f"{name} has no {{text}} in it")
    return value


_NAMES = {
    str: "a string",
    list: 'a list of strings, as in date,created or ["date", "created"]',
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def _names(value: Any) -> Any:
    """Return the list that a text stands for: JSON, as `config` prints it, or names with commas."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith(("[", "{", '"')):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return [part.strip() for part in value.split(",")]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip()) and _is_text("", value)


def _is_text(key: str, value: str) -> bool:
    """Return True if the system takes the value as a path, or a server or SQLite as a text."""
    try:
        if key == "db_path":
            os.fsencode(value)
        else:
            value.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in value


def _check_together(settings: Mapping[str, Any], origin: Mapping[str, str]) -> None:
    if settings["chunk_overlap"] >= settings["chunk_size"]:
        raise _error(
            _last(origin, "chunk_size", "chunk_overlap"),
            f"chunk_overlap ({settings['chunk_overlap']}, from {origin['chunk_overlap']}) must be less than "
            f"chunk_size ({settings['chunk_size']}, from {origin['chunk_size']})",
        )
    if settings["keyword_weight"] + settings["vector_weight"] == 0:
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


def _environment(environ: Mapping[str, str]) -> list[tuple[str, dict[str, Any]]]:
    """Return the HYBRID_MEMORY_<KEY> variables; OLLAMA_HOST sets ollama_url, too. They are one layer, so
    that model and dims match.
    """
    values: dict[str, Any] = {}
    if environ.get("OLLAMA_HOST"):
        values["ollama_url"] = environ["OLLAMA_HOST"]
    variables = {f"{PREFIX}{key.upper()}": key for key in DEFAULTS}
    for name in environ:
        if name.startswith(PREFIX) and name not in (CONFIG, *variables):
            _refuse_unknown(name, [CONFIG, *variables])
    for name, key in variables.items():
        text = environ.get(name)
        if text:
            values[key] = from_text(key, text, name)
    return [(ENVIRONMENT, values)]


def _refuse_unknown(name: str, variables: Iterable[str]) -> None:
    """Raise ConfigError for a variable of no setting, unless this project's own tests set it."""
    if name.startswith(OF_TESTS):
        return
    keys = [variable.removeprefix(PREFIX) for variable in variables]
    near = meant(name.removeprefix(PREFIX), keys).replace("mean ", f"mean {PREFIX}")
    way_out = near or "; `hybrid-memory config` lists the settings"
    raise ConfigError(f"there is no setting for the variable {name}{way_out}")


def from_text(key: str, text: str, name: str) -> Any:
    """Return the value of a text in a variable or on a command line. Raises ConfigError with the name
    of what has it.
    """
    kind = TYPES[key]
    try:
        if kind is bool:
            return WORDS[text.lower()]
        if kind is list:
            return _names(text)
        return kind(text)
    except (ValueError, KeyError):
        raise ConfigError(f"{name}={short_repr(text)} is not {_NAMES[kind]}") from None


def in_checkout() -> bool:
    """Return True for the package of a checkout, False for an installed one."""
    return os.path.exists(os.path.join(CHECKOUT, "pyproject.toml"))


def in_force(path: str | None, environ: Mapping[str, str] = os.environ) -> str:
    """Return the config file that is named, else the one of the checkout, else of the user; it may not
    exist.

    The working directory may be anybody's, so it is not searched.
    """
    if in_checkout():
        standard = os.path.join(CHECKOUT, "config.json")
    else:
        standard = _users_file(environ)
    return path or environ.get(CONFIG) or standard


def standard_database(environ: Mapping[str, str] = os.environ) -> str:
    """Return where a database is unless anything says otherwise: in the checkout, or in the data folder of
    the user.
    """
    if in_checkout():
        return os.path.join(CHECKOUT, DEFAULTS["db_path"])
    return _users_database(environ)


def _users_file(environ: Mapping[str, str]) -> str:
    return os.path.join(_xdg(environ, "XDG_CONFIG_HOME", ".config"), "hybrid-memory", "config.json")


def _users_database(environ: Mapping[str, str]) -> str:
    return os.path.join(
        _xdg(environ, "XDG_DATA_HOME", ".local/share"), "hybrid-memory", "hybrid_search.db"
    )


def _xdg(environ: Mapping[str, str], variable: str, fallback: str) -> str:
    """Return a folder as the XDG Base Directory Specification 0.8 says. If the variable is unset or
    relative, the fallback is used.
    """
    folder = environ.get(variable, "")
    if os.path.isabs(folder):
        return folder
    return os.path.join(os.path.expanduser("~"), fallback)


def checkouts() -> list[str]:
    """Return the folder that this code is in, if it is a checkout, and the one that it was installed from,
    if that still exists.
    """
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    folders = [CHECKOUT]
    try:
        # PEP 610
        noted = json.loads(distribution(DISTRIBUTION).read_text("direct_url.json") or "{}")
        folders.append(unquote(urlsplit(noted.get("url", "")).path))
    except (PackageNotFoundError, ValueError, AttributeError):
        pass  # imported from a folder, or installed in a way that does not note from where
    return [
        folder
        for folder in dict.fromkeys(folders)
        if os.path.isfile(os.path.join(folder, "pyproject.toml"))
    ]


def known_databases(checkouts: Iterable[str], environ: Mapping[str, str] = os.environ) -> list[str]:
    """Return the databases that exist of all that another environment, option or way of installing would
    use; no search of the disk.
    """
    databases = [environ.get("HYBRID_MEMORY_DB_PATH", ""), _users_database(environ)]
    files = [environ.get(CONFIG, ""), _users_file(environ)]
    for checkout in checkouts:
        databases.append(os.path.join(checkout, DEFAULTS["db_path"]))
        files.append(os.path.join(checkout, "config.json"))
    for file in filter(os.path.isfile, map(os.path.expanduser, files)):
        with suppress(ConfigError):
            databases.append(str(read(file).get("db_path", "")))
    paths = [path for path in databases if path and "\0" not in path and not _is_address(path)]
    real = [os.path.realpath(os.path.expanduser(path)) for path in paths]
    return list(dict.fromkeys(filter(os.path.isfile, real)))


def read(path: str) -> dict[str, Any]:
    """Return the keys of a config file. A relative db_path in it is relative to the folder of the file."""
    path = os.path.expanduser(path)
    try:
        with open(path, encoding="utf-8-sig", opener=_open_without_waiting) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ConfigError(f"the config file {path} is not a regular file")
            values = json.load(file, object_pairs_hook=_each_once)
    except OSError as error:
        raise ConfigError(f"cannot read the config file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the config file {path} is not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise ConfigError(f"the config file {path} is nested too deeply") from error
    except ValueError as error:
        if "\0" in path:
            problem = "its name contains a NUL"
        else:
            problem = f"it is not valid JSON: {error}"
        raise ConfigError(f"cannot read the config file {path}: {problem}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"the config file {path} must contain one JSON object")
    database = values.get("db_path")
    if isinstance(database, str) and not address_fault(database) and not is_server(database):
        folder = os.path.dirname(os.path.abspath(path))
        values["db_path"] = os.path.join(folder, os.path.expanduser(database))
    return values


def _open_without_waiting(path: str, flags: int) -> int:
    """Open a file. If it is a FIFO, do not wait until another program writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"the key {short_repr(key)} is there twice")
        values[key] = value
    return values


# What a database may be called
_SCHEMES = ("postgresql://", "postgres://")
_WRITE = "write postgresql://USER@HOST/DATABASE, or the path of a file"
# Such as jdbc:postgresql://, and what lacks a slash
_LIKE_ADDRESS = (
    r"(?i)\s*(?:[a-z][a-z0-9+.:-]*://|(?:postgres|postgresql|psql|pgsql)(?:\+[a-z0-9_]*)?:)"
)
_KEYWORD = r"(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*="  # of a connection
_WORD = r"""\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\']|\\.)*)(?=\s|$)"""
_PUBLIC = ("host", "hostaddr", "port", "user", "dbname", "service")


def server_scheme(database: str) -> str | None:
    """Return the key of `seams.ENGINES` for an address of a server, None for a file.

    Server addresses are what libpq takes: postgresql://, postgres://, or words such as
    `host=db.example dbname=memory`. Raises ConfigError, without the text, for what only looks like one.
    """
    fault = address_fault(database)
    if fault:
        raise ConfigError(f"the name of the database {fault}")
    if is_connection_string(database):
        return "postgresql"
    if database.startswith(_SCHEMES):
        return database.partition("://")[0]
    return None


def _is_address(database: str) -> bool:
    """Return True also for what only looks like the address of a server."""
    return bool(address_fault(database)) or is_server(database)


def is_server(database: str) -> bool:
    """Return True for an address of a PostgreSQL server, False for a file. Raises ConfigError."""
    return server_scheme(database) is not None


def address_fault(database: str) -> str | None:
    """Return why a text that looks like an address is none, without the text; else None.

    An address that libpq does not know would be taken for the name of a file, and its password
    would be shown with that name.
    """
    if "://" not in database and ":" not in database and "=" not in database:
        return None
    if is_connection_string(database):
        if connection_words(database):
            return None
        return f"is not `host=... dbname=...` as libpq reads it; {_WRITE}"
    if database.startswith(_SCHEMES):
        if re.search("%(?![0-9A-Fa-f]{2})|%00", database):
            return "has a % in its address that is not followed by two hexadecimal digits; write %25 for it"
        return None
    if re.match(_LIKE_ADDRESS, database):
        return f"looks like an address, but not like one of PostgreSQL; {_WRITE}"
    return None


def is_connection_string(database: str) -> bool:
    """Return True for words such as `host=db dbname=memory`. A file a=b.db has no word of libpq."""
    begins = re.match(r"\s*\w+\s*=", database)
    return bool(begins and re.search(rf"(?i)(?:^|\s){_KEYWORD}", database))


def connection_words(address: str) -> list[tuple[str, str]]:
    """Return the keywords and values of an address, the values as written; [] if it is malformed."""
    words = []
    end = 0
    while address[end:].strip():
        word = re.compile(_WORD).match(address, end)
        if word is None or word[1] != word[1].lower():
            return []
        if word[1] == "dbname" and re.search("://|=", word[2]):  # an address in an address
            return []
        words.append((word[1], word[2]))
        end = word.end()
    return words


def public_name(address: str) -> str:
    """Return an address as it may be shown: user, hosts and database.

    Other parameters may hold a password.

    'postgresql://ann:secret@db.example/memory?sslmode=require' -> 'postgresql://ann@db.example/memory'
    'host=db.example password=secret dbname=memory' -> 'host=db.example dbname=memory'
    """
    if is_connection_string(address):
        words = [f"{key}={value}" for key, value in connection_words(address) if key in _PUBLIC]
        return " ".join(words) or "the usual PostgreSQL server"
    scheme, _, rest = address.partition("://")
    place = rest.partition("?")[0]
    login, at, host = place.rpartition("@")
    user = login.partition(":")[0]
    return f"{scheme}://{user}{at}{host}"


def shown(database: str) -> str:
    """Return the database as it may be shown, a file as it is given."""
    if address_fault(database):
        return "an address that cannot be read"
    if is_server(database):
        return public_name(database)
    return database


def absolute(database: str) -> str:
    """Return the database by a name that holds in every working directory."""
    if is_server(database):
        return database
    return os.path.abspath(database)
