"""HTTP and HTTPS to any server by `requests`, which finds the proxy, with the limits of
transport.py.

A server on this machine is never called through a proxy, however its address is spelled.
"""

import os
import socket
import zlib
from collections.abc import Callable
from contextlib import suppress
from http.cookiejar import DefaultCookiePolicy
from ipaddress import IPv6Address, ip_address
from threading import Thread
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies, select_proxy
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, ProxyManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ReadTimeoutError

from ...embedding.loopback import Reply, checked, limit
from ...embedding.replies import Response
from ...embedding.transport import Server

# Seconds to look up a host: names of this machine take no time; the proxy can look up the others
LOOK_UP = 1.0
GZIP = b"\x1f\x8b"  # the first bytes of a gzip body (RFC 1952)

Sign = Callable[[requests.PreparedRequest], requests.PreparedRequest]


class RemoteSession:
    """The connections to one server, with the interface of `transport.ServerSession`."""

    def __init__(self, url: str, host: str, sign: Sign | None, *, direct: bool) -> None:
        """`sign` adds the key to a request. With `direct`, no proxy is used; otherwise the
        environment and `host` decide.

        Raises ValueError for a URL that cannot be parsed.
        """
        self._session = _Requests()
        if direct or (select_proxy(url, get_environ_proxies(url, None)) and is_local(host)):
            # Ignore the environment's proxies, but not its certificates
            self._session.trust_env = False
            self._session.verify = (
                os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
            )
        self._session.auth = sign  # ~/.netrc would override a plain header

    def request(
        self,
        method: str,
        url: str,
        *,
        data: bytes | None,
        headers: dict[str, str],
        timeout: tuple[float, float],
        most: int,
    ) -> Response:
        """See `loopback.LoopbackSession.request`; also raises the errors of `requests`, and
        ValueError for an invalid URL.
        """
        headers = {"Accept-Encoding": "gzip"} | headers
        try:
            with self._session.request(
                method,
                url,
                data=data,
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
                stream=True,
            ) as reply:
                most = limit(reply.status_code, most)
                body = reply.raw.read(most + 1, decode_content=False)
                body = checked(reply.status_code, body, reply.raw.length_remaining, most)
            if body.startswith(GZIP):  # requests would unpack the whole body
                body = checked(
                    reply.status_code, zlib.decompressobj(31).decompress(body, most + 1), 0, most
                )
        except ReadTimeoutError as error:
            raise TimeoutError(str(error)) from error
        except (HTTPError, zlib.error) as error:
            raise ConnectionError(str(error)) from error
        return Response(
            reply.status_code, {name.lower(): value for name, value in reply.headers.items()}, body
        )

    def close(self) -> None:
        """Close idle connections."""
        self._session.close()


def is_local(host: str) -> bool:
    """Whether a name or address is this machine's, in any spelling that the resolver accepts. Takes
    up to LOOK_UP seconds.
    """
    name = host.rstrip(".")
    # Names of this machine: RFC 6761, section 6.3
    if name.endswith(".localhost") or name in (
        "localhost",
        socket.gethostname().lower().rstrip("."),
    ):
        return True
    found: list[tuple[int, tuple[Any, ...]]] = []

    def look_up() -> None:
        with suppress(OSError, ValueError):
            found.extend(
                (family, address)
                for family, _, _, _, address in socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM)
            )

    thread = Thread(target=look_up, daemon=True)  # a look-up has no time-out
    thread.start()
    thread.join(LOOK_UP)
    try:
        return any(_is_own(family, address) for family, address in found)
    except (OSError, ValueError):
        return False


def _is_own(family: int, address: tuple[Any, ...]) -> bool:
    """Whether this machine has the address, given as in getaddrinfo. Raises OSError if there is no
    route to it.
    """
    ip = ip_address(address[0].partition("%")[0])
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    if ip.is_loopback or ip.is_unspecified:
        return True
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        # Sends nothing, but finds the route: its two addresses are equal only within one machine
        probe.connect(address)
        return bool(probe.getsockname()[0] == probe.getpeername()[0])


class _Requests(requests.Session):
    def __init__(self) -> None:
        super().__init__()
        # Servers could fill the memory with cookies
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=()))
        for scheme in ("http://", "https://"):
            self.mount(scheme, _Adapter())

    def get_redirect_target(self, resp: requests.Response) -> None:
        """None: to find a redirect's target, requests would read the whole body, although it does
        not follow the redirect.
        """


class _Adapter(HTTPAdapter):
    """Makes every response a `loopback.Reply`, directly and through an HTTP proxy."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **options)
        if isinstance(manager, ProxyManager):  # a SOCKS proxy needs its special pools
            manager.pool_classes_by_scheme = POOLS
        return manager


class _HTTPPool(HTTPConnectionPool):
    class ConnectionCls(HTTPConnection):
        response_class = Reply


class _HTTPSPool(HTTPSConnectionPool):
    class ConnectionCls(HTTPSConnection):
        response_class = Reply


POOLS = {"http": _HTTPPool, "https": _HTTPSPool}


def by_index(reply: Any, server: Server) -> list[Any]:
    """The vectors in a reply of OpenAI or Voyage, in the order of the texts. Raises Failure if the
    reply has another form.

    `{"data": [{"index": 1, "embedding": b}, {"index": 0, "embedding": a}]} -> [a, b]`
    """
    try:
        vectors = {item.get("index", i): item["embedding"] for i, item in enumerate(reply["data"])}
        return [vectors[i] for i in range(len(reply["data"]))]
    except (AttributeError, LookupError, TypeError) as error:
        raise server.nonsense() from error
