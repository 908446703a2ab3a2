"""Opens the store that the arguments of the command line name."""

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager

from ..config_file import is_server
from ..errors import StoreError
from ..store import HybridStore
from . import from_arguments
from .streams import tell


@contextmanager
def open_store(args: Namespace, *, create: bool = False) -> Iterator[HybridStore]:
    """The store. Whatever the storage engine raises while it is open becomes a StoreError."""
    settings = from_arguments.settings(args)
    try:
        opened = HybridStore(settings["db_path"], settings, create=create, on_wait=(lambda message: None) if args.quiet else tell)
    except StoreError as error:
        if is_server(settings["db_path"]) or os.path.exists(settings["db_path"]):
            raise
        from .places import told

        raise StoreError(f"{error}; {told(args, settings['db_path'])}") from error
    with opened as store, store.storage.guarded():
        yield store
