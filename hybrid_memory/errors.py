"""What can go wrong in a way that the user can do something about.

    HybridMemoryError      one line that names the problem and what to do
    ├── ConfigError        a config file or an environment variable
    │   └── UsageError     an option of the command line
    ├── StoreError         the database: missing, not ours, locked, full, too new
    │   └── ConnectionLostError  the server of the database has gone away
    ├── SourceError        a file or folder that should be read
    ├── QueryError         a query that cannot be answered
    │   └── NotFoundError  a document that is not in the store
    └── EmbedderError      the embedding server or model

A wrong call by a programmer raises ValueError. Every other exception is a bug, and its traceback is
shown.
"""


class HybridMemoryError(Exception):
    """The base class of all errors that are shown to the user as one line, without a traceback."""


class ConfigError(HybridMemoryError):
    pass


class UsageError(ConfigError):
    pass


class StoreError(HybridMemoryError):
    pass


class ConnectionLostError(StoreError):
    pass


class SourceError(HybridMemoryError):
    pass


class QueryError(HybridMemoryError):
    pass


class NotFoundError(QueryError):
    pass


class EmbedderError(HybridMemoryError):
    pass
