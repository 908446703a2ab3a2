"""Fixtures for the tests of storage."""

import sqlite3
from collections.abc import Iterator

import pytest

from hybrid_memory.storage.sqlite import connection


@pytest.fixture
def conn() -> Iterator[sqlite3.Connection]:
    opened = connection.connect(":memory:", create=True)
    yield opened
    opened.close()
