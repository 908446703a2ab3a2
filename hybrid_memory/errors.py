"""What can go wrong in a way the user can act on.

    HybridMemoryError      one line that names the thing and the way out
    ├── ConfigError        a config file or variable
    │   └── UsageError     an option of the command line
    ├── StoreError         the database: missing, foreign, locked, full, too new
    ├── SourceError        a file or folder to be read
    ├── QueryError         a query that cannot be answered as asked
    └── EmbedderError      the embedding server or model

Misuse by a programmer stays ValueError; anything else is a bug and keeps its traceback.
"""


class HybridMemoryError(Exception):
    """The base of all errors that are told to the user in one line, without a traceback."""


class ConfigError(HybridMemoryError):
    pass


class UsageError(ConfigError):
    pass


class StoreError(HybridMemoryError):
    pass


class SourceError(HybridMemoryError):
    pass


class QueryError(HybridMemoryError):
    pass


class EmbedderError(HybridMemoryError):
    pass
