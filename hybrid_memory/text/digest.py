"""The hash that tells whether two contents are the same: 16 bytes of BLAKE2b (RFC 7693)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b


def hasher() -> "blake2b":
    """A hash to be fed with `update`, for contents that do not fit into memory."""
    import hashlib  # takes longer to import than a keyword search needs it for

    return hashlib.blake2b(digest_size=16)


def digest(data: bytes) -> bytes:
    """The hash of these bytes."""
    state = hasher()
    state.update(data)
    return state.digest()
