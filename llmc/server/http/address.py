"""The address to listen at, and the host names that requests may use.

Beyond loopback, llmc listens only with TLS, or when the user explicitly allows it without. Host names are compared as a
whole: `127.0.0.1:7331.evil.example` starts like a valid one but is not.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from dataclasses import dataclass

from llmc.base.errors import ConfigError, DaemonError

__all__ = ["Address", "bind", "parse_address"]

DEFAULT_PORTS = {"http": 80, "https": 443}
LARGEST_PORT = 65_535
EVERYWHERE = {"0.0.0.0", "[::]"}  # noqa: S104 - addresses to listen at, and no name of anybody


@dataclass(frozen=True, slots=True)
class Address:
    """`names` are additional host names, for a server that others reach by name."""

    host: str
    port: int
    scheme: str = "http"
    names: tuple[str, ...] = ()

    @property
    def url(self) -> str:
        return f"{self.scheme}://{bracketed(self.host)}:{self.port}"

    def is_own_host(self, host: str, local: str) -> bool:
        """Whether `Host` is a name of this server; `local` is the local address of the connection."""
        return host.lower() in self.hosts(local)

    def is_own_origin(self, origin: str, local: str) -> bool:
        return origin.lower() in {f"{self.scheme}://{host}" for host in self.hosts(local)}

    def hosts(self, local: str) -> set[str]:
        names = {bracketed(local), bracketed(self.host.lower()), *(name.lower() for name in self.names)} - EVERYWHERE
        if is_loopback_text(local):
            names |= {"localhost", "127.0.0.1", "[::1]"}
        hosts = {f"{name}:{self.port}" for name in names}
        return hosts | names if self.port == DEFAULT_PORTS[self.scheme] else hosts


def parse_address(text: str, host: str, port: int) -> tuple[str, int]:
    """Parse `HOST:PORT`, `:PORT`, `PORT`, `HOST` or `[::1]:PORT`; missing parts come from the settings."""
    given = text.strip()
    name, colon, number = given.rpartition(":")
    if given.isdecimal():
        name, number = "", given
    elif not colon or given.endswith("]"):
        name, number = given, ""
    elif ":" in name and not name.startswith("["):
        raise ConfigError(f"{text!r} is not HOST:PORT", hint="Put an IPv6 address in brackets: [::1]:7331.")
    if number and (not number.isdecimal() or not number.isascii() or int(number) > LARGEST_PORT):
        raise ConfigError(f"{text!r} is not HOST:PORT", hint="A port is a number from 0 to 65535.")
    return name.strip("[]") or host, int(number) if number else port


def bind(host: str, port: int) -> list[socket.socket]:
    """Listening sockets for every address of the host; with port 0, all on the same free port."""
    bound: list[socket.socket] = []
    trouble: OSError | None = None
    for family, address in addresses(host):
        chosen = bound[0].getsockname()[1] if bound and not port else port
        try:
            bound.append(bound_socket(family, (address, chosen)))
        except OSError as error:
            trouble = error
    if not bound or (trouble is not None and trouble.errno == errno.EADDRINUSE):
        for one in bound:
            one.close()
        reason = (trouble.strerror or str(trouble)) if trouble else "it has no address"
        raise DaemonError(
            f"cannot listen at {host}:{port}", reason=reason, hint="Choose another port; 0 selects a free one."
        )
    return bound


def bound_socket(family: int, address: tuple[str, int]) -> socket.socket:
    # With an explicit protocol, since asyncio sets TCP_NODELAY only for such sockets: 44 ms of a 48 ms reply.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def addresses(host: str) -> list[tuple[int, str]]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise ConfigError(f"cannot resolve {host!r}", reason=str(error)) from None
    return list(dict.fromkeys((int(family), str(address[0])) for family, _, _, _, address in found))


def is_loopback(host: str) -> bool:
    return all(is_loopback_text(address) for _, address in addresses(host))


def is_loopback_text(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
