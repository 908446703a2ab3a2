"""How a database is named: a file, or the address of a PostgreSQL server.

An address is what libpq accepts: postgresql://USER@HOST/DATABASE, postgres://..., or a connection
string such as `host=db.example dbname=memory`.
"""

import os
import re

from .errors import ConfigError

_SCHEMES = ("postgresql://", "postgres://")
_CORRECTION = "write postgresql://USER@HOST/DATABASE, or the path of a file"
# Such as jdbc:postgresql://, and addresses that lack a slash
_LIKE_ADDRESS = (
    r"(?i)\s*(?:[a-z][a-z0-9+.:-]*://|(?:postgres|postgresql|psql|pgsql)(?:\+[a-z0-9_]*)?:)"
)
# A keyword of a connection string
_KEYWORD = r"(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*="
_WORD = r"""\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\']|\\.)*)(?=\s|$)"""
_PUBLIC = ("host", "hostaddr", "port", "user", "dbname", "service")
_PASSWORDS = ("password", "sslpassword")


def server_scheme(database: str) -> str | None:
    """The key of `registry.ENGINES` for a server address; None for a file.

    Raises ConfigError, without the text, for a malformed address.
    """
    fault = address_fault(database)
    if fault:
        raise ConfigError(f"the name of the database {fault}")
    if is_connection_string(database):
        return "postgresql"
    if database.startswith(_SCHEMES):
        return database.partition("://")[0]
    return None


def is_server(database: str) -> bool:
    """Whether a database is on a PostgreSQL server. Raises ConfigError for a malformed address."""
    return server_scheme(database) is not None


def looks_like_address(database: str) -> bool:
    """Whether a text is a server address, well-formed or not."""
    return bool(address_fault(database)) or is_server(database)


def address_fault(database: str) -> str | None:
    """Explain why a URL-like text is not a valid address, without repeating it; else None.

    Otherwise a malformed address would pass for a file name, and messages would show its password.
    """
    if is_connection_string(database):
        if connection_words(database):
            return None
        return f"is not a valid `host=... dbname=...` connection string; {_CORRECTION}"
    if database.startswith(_SCHEMES):
        if re.search("%(?![0-9A-Fa-f]{2})|%00", database):
            return "has a % that is not followed by two hexadecimal digits; write %25 for a percent sign"
        return None
    if re.match(_LIKE_ADDRESS, database):
        return f"looks like an address, but not a PostgreSQL one; {_CORRECTION}"
    return None


def is_connection_string(database: str) -> bool:
    """Whether a text is like `host=db dbname=memory`. The file name a=b.db has no libpq keyword."""
    begins = re.match(r"\s*\w+\s*=", database)
    return bool(begins and re.search(rf"(?i)(?:^|\s){_KEYWORD}", database))


def connection_words(address: str) -> list[tuple[str, str]]:
    """The keywords and values of a connection string, values as written; [] if it is malformed."""
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
    """Reduce an address to user, hosts and database: other parameters may hold a password.

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


def without_password(database: str) -> str:
    """Return a database address without its passwords (libpq can find these elsewhere)."""
    if not is_server(database):
        return database
    if is_connection_string(database):
        words = [
            f"{key}={value}" for key, value in connection_words(database) if key not in _PASSWORDS
        ]
        return " ".join(words)

    place, _, query = database.partition("?")
    parameters = [
        parameter for parameter in query.split("&") if parameter.partition("=")[0] not in _PASSWORDS
    ]
    return "?".join(filter(None, [public_name(place), "&".join(parameters)]))


def without_login_password(url: str) -> str:
    """`https://ann:secret@box/v1 -> https://ann@box/v1`; any other text stays as it is."""
    scheme, separator, rest = url.partition("://")
    server, slash, path = rest.partition("/")
    login, at, host = server.rpartition("@")
    if not separator or not at:
        return url
    return f"{scheme}://{login.partition(':')[0]}@{host}{slash}{path}"


def display_name(database: str) -> str:
    """A database as messages show it: an address without its password, a file as given."""
    if address_fault(database):
        return "an address that cannot be read"
    if is_server(database):
        return public_name(database)
    return database


def absolute(database: str) -> str:
    """A name of the database that is valid in every working directory."""
    if is_server(database):
        return database
    return os.path.abspath(database)
