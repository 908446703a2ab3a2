"""A server that answers every request with raw bytes of a test's choice, and replies that no decent server would send."""

import contextlib
import itertools
import json
import socket
import threading
import time
import zlib
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


def with_earlier_sizes(body: bytes, status: bytes = b"200 OK", headers: bytes = b"") -> list[bytes]:
    """A reply with a Content-Length. `headers` are whole lines."""
    return [
        b"HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Length: %d\r\n\r\n"
        % (status, headers, len(body)),
        body,
    ]


def terabyte() -> Iterable[bytes]:
    return itertools.chain([OK + b"Content-Length: 1000000000000\r\n\r\n"], itertools.repeat(MIB))


def until_close() -> Iterable[bytes]:
    return itertools.chain([OK + b"\r\n"], itertools.repeat(MIB))


def chunked() -> Iterable[bytes]:
    return itertools.chain(
        [OK + b"Transfer-Encoding: chunked\r\n\r\n"],
        itertools.repeat(b"100000\r\n" + MIB + b"\r\n"),
    )


def chunk_size_line() -> Iterable[bytes]:
    return itertools.chain([OK + b"Transfer-Encoding: chunked\r\n\r\n1;"], itertools.repeat(MIB))


def trailers() -> Iterable[bytes]:
    return itertools.chain(
        [OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n"], itertools.repeat(b"X: y\r\n" * 10_000)
    )


def status_line() -> Iterable[bytes]:
    return itertools.chain([b"HTTP/1.1 200 "], itertools.repeat(MIB))


def many_headers() -> Iterable[bytes]:
    return itertools.chain([OK], itertools.repeat(b"X: y\r\n" * 10_000))


def long_header() -> Iterable[bytes]:
    return itertools.chain([OK + b"X: "], itertools.repeat(MIB))


def interim() -> Iterable[bytes]:
    return itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000)


def dripping_headers() -> Iterator[bytes]:
    yield OK + b"X: "
    while True:
        time.sleep(0.05)
        yield b"x"


def dripping_body() -> Iterator[bytes]:
    yield OK + b"\r\n"
    while True:
        time.sleep(0.05)
        yield b" "


def redirect() -> Iterable[bytes]:
    return itertools.chain(
        [b"HTTP/1.1 307 Moved\r\nLocation: http://192.0.2.1/\r\n\r\n"], itertools.repeat(MIB)
    )


def long_error() -> Iterable[bytes]:
    """50 MB of control characters."""
    return itertools.chain(
        [b"HTTP/1.1 500 Failed\r\nContent-Length: 52428800\r\n\r\n"],
        itertools.repeat(b"\x1b" * 2**20, 50),
    )


def endless_error() -> Iterable[bytes]:
    return itertools.chain([b"HTTP/1.1 500 Failed\r\n\r\n"], itertools.repeat(MIB))


def gzipped(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(body) + packer.flush()


def bomb(mebibytes: int = 20) -> Iterable[bytes]:
    """A compressed body of spaces, which is 1,000 times as long when it is unpacked."""
    packer = zlib.compressobj(wbits=31)
    body = b"".join(packer.compress(b" " * 2**20) for _ in range(mebibytes)) + packer.flush()
    return with_earlier_sizes(body, headers=b"Content-Encoding: gzip\r\n")


def nested_bomb() -> Iterable[bytes]:
    """16 MB of spaces, compressed twice."""
    return with_earlier_sizes(
        gzipped(gzipped(b" " * 2**24)), headers=b"Content-Encoding: gzip, gzip\r\n"
    )


def cookies() -> Iterable[bytes]:
    body = json.dumps({"embeddings": [[1.0, 0.0]]}).encode()
    return with_earlier_sizes(
        body, headers=b"".join(b"Set-Cookie: c%d=%s\r\n" % (i, b"x" * 4000) for i in range(50))
    )
