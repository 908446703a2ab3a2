"""The hash that shows whether two contents are the same: 16 bytes of BLAKE2b (RFC 7693)."""

from ..typed.names import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import blake2b


def hasher() -> "blake2b":
    """A hash object. Its `update` takes the contents piece by piece, so that they need not fit into memory."""
    import hashlib  # imported late: the import is slow, and a keyword search does not need it

    return hashlib.blake2b(digest_size=16)


def digest(data: bytes) -> bytes:
    """The hash of these bytes."""
    state = hasher()
    state.update(data)
    return state.digest()
