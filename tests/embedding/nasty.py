"""A server that answers every request with raw bytes of a test's choice, and replies without an end."""

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

OK = b"HTTP/1.1 200 OK\r\n"
MIB = b"x" * 2**20


@contextmanager
def answering(reply: Callable[[], Iterable[bytes]]) -> Iterator[int]:
    """The port of a server on 127.0.0.1 that sends the pieces of `reply()` on each connection, then closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                for piece in reply():
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(
                        target=answer, args=(listener.accept()[0],), daemon=True
                    ).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def whole(body: bytes, status: bytes = b"200 OK", headers: bytes = b"") -> list[bytes]:
    """A reply with a Content-Length. `headers` are whole lines."""
    return [
        b"HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n"
        % (status, headers, len(body)),
        body,
    ]


def until_close() -> Iterable[bytes]:
    return itertools.chain([OK + b"\r\n"], itertools.repeat(MIB))


def long_header() -> Iterable[bytes]:
    return itertools.chain([OK + b"X: "], itertools.repeat(MIB))


def dripping_body() -> Iterator[bytes]:
    yield OK + b"\r\n"
    while True:
        time.sleep(0.05)
        yield b" "


def endless_error() -> Iterable[bytes]:
    return itertools.chain([b"HTTP/1.1 500 Failed\r\n\r\n"], itertools.repeat(b"\x1b" * 2**20))
