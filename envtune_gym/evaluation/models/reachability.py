"""Whether a server takes connections: one look before a run, in place of all the retries of every episode."""

from __future__ import annotations

import socket
import urllib.request
from urllib.parse import urlsplit

from envtune_gym.errors import ServerError

__all__ = ["check_reachable"]

_PORTS = {"http": 80, "https": 443}
_SECONDS = 3.0


def check_reachable(base_url: str) -> None:
    """Connect to a server once, and send nothing.

    One that is merely slow to take a connection passes, for it may be in time for a retry. So does one that requests
    reach through a proxy, as the environment's variables may say: only the proxy can tell.

    Args:
        base_url: Where the server is, with a scheme of HTTP.

    Raises:
        ServerError: If no connection can be made.
    """
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    if {parts.scheme, "all"} & urllib.request.getproxies().keys() and not urllib.request.proxy_bypass(host):
        return
    try:
        socket.create_connection((host, parts.port or _PORTS[parts.scheme]), _SECONDS).close()
    except TimeoutError:
        return
    except (OSError, ValueError) as error:  # the latter for a port or a name that cannot be one
        reason = getattr(error, "strerror", None) or error
        address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        raise ServerError(
            f"no server takes connections at {address} ({reason}); start it (vllm serve MODEL, say) and wait until it "
            "listens, or name another address with --base-url"
        ) from error
