"""Opens connections to a board: sockets that detect a dead link, strict host keys, user's keys."""

from __future__ import annotations

import logging
import random
import shlex
import socket
import time
from collections.abc import Sequence
from typing import TypeAlias

import paramiko

from foundation.programs import python_command
from rvv_runner.board import BoardError
from rvv_runner.ssh.errors import HostKeyError, LoginRefused, NotAnswering
from rvv_runner.ssh.known_hosts import known_host_keys, load_known_hosts
from rvv_runner.ssh.route import Hop

__all__ = ["CONNECT_LIMIT_S", "log_in", "offered_host_key"]

CONNECT_LIMIT_S = 8.0

Connection: TypeAlias = socket.socket | paramiko.Channel | paramiko.ProxyCommand

# A server hangs up if more logins are under way than its MaxStartups allows. ssh clients are
# expected to retry, but not all at the same time.
_BANNER_ATTEMPTS = 6
_BANNER_PAUSE_S = 0.3

# What paramiko says if it finds neither a key nor an agent that has one.
_NO_KEY = "No authentication methods available"

# Probes after 5 s of silence, every 2 s, 3 in all; unanswered data for at most 10 s (tcp(7)).
_KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 2),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 10_000),
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
)

# Every error is raised here as a sentence; paramiko's log would repeat it with a traceback.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


def log_in(route: Sequence[Hop], limit_s: float = CONNECT_LIMIT_S) -> list[paramiko.SSHClient]:
    """Clients for the machines of `route`, each connected through the one before.

    Args:
        route: the machines to log in to.
        limit_s: separately for TCP, the server's banner and authentication.

    Raises:
        NotAnswering: if a machine cannot be reached now.
        HostKeyError: if a machine's host key is not trusted.
        LoginRefused: if a machine does not let this user in.
        BoardError: if a name does not resolve.
    """
    clients: list[paramiko.SSHClient] = []
    try:
        for hop in route:
            clients.append(_log_in_to(hop, clients[-1] if clients else None, limit_s))
    except BaseException:
        for client in reversed(clients):
            client.close()
        raise
    return clients


def offered_host_key(route: Sequence[Hop]) -> paramiko.PKey:
    """The host key that the last machine of `route` shows, before it is trusted.

    Raises:
        BoardError: like `log_in`, for the machines on the way.
    """
    clients = log_in(route[:-1])
    try:
        through = clients[-1] if clients else None
        transport = paramiko.Transport(_reach(route[-1], through, CONNECT_LIMIT_S))
        try:
            transport.start_client(timeout=CONNECT_LIMIT_S)
            key: paramiko.PKey = transport.get_remote_server_key()
            return key
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise NotAnswering(f"{route[-1]} does not speak SSH as expected: {error}") from error
        finally:
            transport.close()
    finally:
        for client in reversed(clients):
            client.close()


def _log_in_to(hop: Hop, through: paramiko.SSHClient | None, limit_s: float) -> paramiko.SSHClient:
    for attempt in range(1, _BANNER_ATTEMPTS + 1):
        sock = _reach(hop, through, limit_s)
        if not known_host_keys(hop):
            sock.close()
            raise HostKeyError(
                f"the host key of {hop.known_as} is not known: "
                f"run `{python_command('rvv_runner')} trust {_typed(hop)}`"
            )
        start_s = time.monotonic()
        try:
            return _authenticated(hop, sock, limit_s)
        except (paramiko.SSHException, EOFError, OSError) as error:  # also "Socket is closed"
            sock.close()
            if attempt == _BANNER_ATTEMPTS or time.monotonic() - start_s >= limit_s:
                raise NotAnswering(
                    f"{hop} accepts connections and then hangs up ({_text(error)}): "
                    "check its SSH server"
                ) from error
            time.sleep(_BANNER_PAUSE_S * attempt * random.uniform(0.5, 1.5))
    raise AssertionError("unreachable")


def _authenticated(hop: Hop, sock: Connection, limit_s: float) -> paramiko.SSHClient:
    client = paramiko.SSHClient()
    load_known_hosts(client.get_host_keys())
    try:
        client.connect(
            hop.host,
            port=hop.port,
            username=hop.user,
            key_filename=list(hop.identity_files),
            sock=sock,
            timeout=limit_s,
            banner_timeout=limit_s,
            auth_timeout=limit_s,
            channel_timeout=limit_s,
        )
    except BaseException as error:
        refusal = _refusal(hop, client, error)
        client.close()
        if refusal is None:
            raise
        raise refusal from error
    return client


def _refusal(
    hop: Hop, client: paramiko.SSHClient, error: BaseException
) -> HostKeyError | LoginRefused | None:
    """What the user has to change before a login works; None if the connection ended otherwise."""
    if isinstance(error, paramiko.BadHostKeyException):
        return HostKeyError(
            f"the host key of {hop.known_as} has changed, so this may be another machine: if the "
            f"board was reinstalled, run `ssh-keygen -R '{hop.known_as}'` and then "
            f"`{python_command('rvv_runner')} trust {_typed(hop)}`"
        )
    if isinstance(error, paramiko.PasswordRequiredException):
        return LoginRefused(
            f"your key for {hop} asks for a passphrase: give it to an agent with `ssh-add`"
        )
    if isinstance(error, paramiko.BadAuthenticationType):
        return LoginRefused(
            f"{hop} takes no keys: write `PubkeyAuthentication yes` into /etc/ssh/sshd_config "
            f"there, start its SSH server again, and run `{hop.copy_key_command}`"
        )
    if isinstance(error, OSError) and error.filename is not None:
        return LoginRefused(
            f"your key {error.filename} for {hop} cannot be read ({error.strerror}): mend that, "
            "or name another as IdentityFile in ~/.ssh/config"
        )
    if isinstance(error, paramiko.SSHException) and _NO_KEY in str(error):
        return LoginRefused(
            f"you have no SSH key for {hop}: make one with `ssh-keygen`, and put it there with "
            f"`{hop.copy_key_command}`"
        )
    if not _is_refused(client, error):
        return None
    return LoginRefused(
        f"{hop} does not let this user in ({_text(error)}): check the user's name, and put "
        f"your key there with `{hop.copy_key_command}`"
    )


def _is_refused(client: paramiko.SSHClient, error: BaseException) -> bool:
    """Whether the machine answered that it does not let the user in."""
    if not isinstance(error, paramiko.SSHException):
        return False
    transport = client.get_transport()
    # The last of several keys may fail with any error, although the machine refused the others.
    is_connected = transport is not None and transport.is_active()
    return is_connected or isinstance(error, paramiko.AuthenticationException)


def _typed(hop: Hop) -> str:
    return f"ssh://{hop}"


def _text(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")


def _reach(hop: Hop, through: paramiko.SSHClient | None, limit_s: float) -> Connection:
    """A connection to the machine's SSH server.

    Raises:
        NotAnswering: if the machine cannot be reached now.
        BoardError: if the name does not resolve.
    """
    if hop.proxy_command is not None:
        return paramiko.ProxyCommand(shlex.join(["sh", "-c", f"exec {hop.proxy_command}"]))
    if through is not None:
        transport = through.get_transport()
        assert transport is not None
        try:
            return transport.open_channel(
                "direct-tcpip", (hop.host, hop.port), ("127.0.0.1", 0), timeout=limit_s
            )
        except (paramiko.SSHException, EOFError, OSError) as error:
            raise NotAnswering(
                f"{hop} cannot be reached from its jump host: {_text(error)}"
            ) from error
    try:
        sock = socket.create_connection((hop.host, hop.port), timeout=limit_s)
    except socket.gaierror as error:
        raise BoardError(
            f"there is no machine named {hop.host} ({error.strerror}): "
            "check the name, or give its address"
        ) from error
    except ConnectionRefusedError as error:
        raise NotAnswering(
            f"{hop.host} refuses connections on port {hop.port}: "
            "start its SSH server, or correct the port"
        ) from error
    except OSError as error:
        raise NotAnswering(
            f"{hop.host} does not answer on port {hop.port} ({_text(error)}): "
            "switch it on, or check its address and the network"
        ) from error
    for level, name, value in _KEEPALIVE:
        sock.setsockopt(level, name, value)
    return sock
