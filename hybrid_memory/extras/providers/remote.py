"""HTTP and HTTPS to any server by `requests`, which finds the proxy.

A server on this machine is never called through a proxy, however its address is spelled.
"""

import os
import socket
from ipaddress import ip_address
from typing import Any

import requests
from requests import exceptions
from requests.utils import get_environ_proxies, select_proxy
from urllib3.exceptions import HTTPError, ReadTimeoutError

from ...embedding.loopback import ConnectTimeout, Response, checked, limit
from ...embedding.transport import within

# Seconds to look up a host: names of this machine take no time; the proxy can look up the others
LOOK_UP = 1.0


class RemoteSession:
    """The connections to one server, with the interface of `transport.ServerSession`."""

    def __init__(self, url: str, host: str, headers: dict[str, str], *, direct: bool) -> None:
        """`headers` have the key, if there is one. With `direct`, no proxy is used; otherwise the
        environment and `host` decide.

        Raises ValueError for a URL that cannot be parsed.
        """

        def sign(request: requests.PreparedRequest) -> requests.PreparedRequest:
            request.headers.update(headers)
            return request

        self._session = requests.Session()
        if direct or (select_proxy(url, get_environ_proxies(url, None)) and is_local(host)):
            # Ignore the environment's proxies, but not its certificates
            self._session.trust_env = False
            self._session.verify = (
                os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE") or True
            )
        self._session.auth = sign if headers else None  # ~/.netrc would override a plain header

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
        """See `loopback.LoopbackSession.request`; also raises ValueError for an invalid URL."""
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
                body = reply.raw.read(most + 1, decode_content=True)
                body = checked(reply.status_code, body, reply.raw.length_remaining, most)
        except ValueError:  # also an address of a proxy that cannot be used
            raise
        except exceptions.RequestException as error:
            raise _as_oserror(error) from error
        except ReadTimeoutError as error:
            raise TimeoutError(str(error)) from error
        except HTTPError as error:
            raise ConnectionError(str(error)) from error
        return Response(
            reply.status_code, {name.lower(): value for name, value in reply.headers.items()}, body
        )

    def close(self) -> None:
        """Close idle connections."""
        self._session.close()


def _as_oserror(error: exceptions.RequestException) -> OSError:
    """The error of `requests` as `LoopbackSession` raises it."""
    words = str(error)
    if isinstance(error, exceptions.SSLError):
        return OSError("its certificate is not trusted, or it does not support https")
    if isinstance(error, exceptions.ProxyError):
        return OSError("the proxy in HTTPS_PROXY or HTTP_PROXY fails; NO_PROXY can exclude it")
    if isinstance(error, exceptions.ConnectTimeout):
        return ConnectTimeout()
    if isinstance(error, exceptions.ReadTimeout):
        return TimeoutError()
    if "NewConnectionError" not in words and "NameResolutionError" not in words:
        return ConnectionError(words)
    if "refused" in words:
        return ConnectionRefusedError()
    return OSError("no such host, or no route to it")


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
    try:
        # getaddrinfo has no time-out
        found = within(LOOK_UP, lambda: socket.getaddrinfo(name, 9, type=socket.SOCK_DGRAM))
        return any(_is_own(family, address) for family, _, _, _, address in found)
    except (OSError, ValueError):
        return False


def _is_own(family: int, address: tuple[Any, ...]) -> bool:
    """Whether this machine has the address, given as in getaddrinfo. Raises OSError if there is no
    route to it.
    """
    ip = ip_address(address[0].partition("%")[0])
    if ip.is_loopback or ip.is_unspecified:
        return True
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        # Sends nothing, but finds the route: its two addresses are equal only within one machine
        probe.connect(address)
        return bool(probe.getsockname()[0] == probe.getpeername()[0])
