"""Logging in: strict host keys, ~/.ssh/config, and a sentence of its own for each refusal."""

from __future__ import annotations

import dataclasses
import io
import re
import shutil
import subprocess
import sys
import threading
import time

import pytest
from ssh_cases import SCALE, TIMEOUT_S, doubled, processes_with
from ssh_server import free_port, make_key

from rvv_runner import BoardError
from rvv_runner.silence import told_of_silence
from rvv_runner.ssh.address import Address, parse_address
from rvv_runner.ssh.board import SshBoard
from rvv_runner.ssh.errors import LinkLost
from rvv_runner.ssh.route import find_route
from rvv_runner.ssh.session import Session
from rvv_runner.trust import trust


def test_an_unknown_host_key_names_the_command_that_trusts_it(open_board, server):
    server.known_hosts.write_text("")
    with pytest.raises(
        BoardError, match=r"is not known: run `\S*python\S* -m rvv_runner trust ssh://"
    ):
        open_board()


def test_a_changed_host_key_is_refused(open_board, server):
    server.stop()
    make_key(server.folder / "host_key")
    server.start()
    with pytest.raises(BoardError, match="has changed, so this may be another machine"):
        open_board()


def test_a_host_key_of_another_type_is_refused(open_board, server):
    make_key(server.folder / "other_key", "ecdsa")
    key = (server.folder / "other_key.pub").read_text()
    server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {key}")
    with pytest.raises(BoardError, match="has changed, so this may be another machine"):
        open_board()


def test_a_wrong_user_or_key_is_told_about_ssh_copy_id(open_board, server):
    with pytest.raises(BoardError, match=r"does not let this user in .*ssh-copy-id -p"):
        open_board(user="nobody-of-this-name")
    (server.folder / "authorized_keys").write_text("")
    with pytest.raises(BoardError, match="does not let this user in"):
        open_board()


def test_a_user_without_a_key_is_told_to_make_one(open_board, server, home):
    (home / ".ssh" / "id_ed25519").unlink()
    with pytest.raises(BoardError, match=r"you have no SSH key .* `ssh-keygen`, .*`ssh-copy-id -p"):
        open_board()


def test_a_user_whose_shell_runs_nothing_is_told_to_set_another(open_board, server):
    server.stop()
    config = server.folder / "sshd_config"
    config.write_text(f"{config.read_text()}ForceCommand echo This account is not available.\n")
    server.start()
    with pytest.raises(BoardError, match=r"with 'This account is not available.' before .* `chsh"):
        open_board()


def test_a_key_with_a_passphrase_asks_for_an_agent(open_board, server, home):
    key = str(home / ".ssh" / "id_ed25519")
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", key], check=True, timeout=200)
    with pytest.raises(BoardError, match="asks for a passphrase: give it to an agent with `ssh-a"):
        open_board()


def test_a_refused_rsa_key_of_the_users_config_is_a_refused_login(open_board, server, home):
    (home / ".ssh" / "id_ed25519").unlink()
    make_key(home / ".ssh" / "mine", "rsa")
    (home / ".ssh" / "config").write_text(f"Host *\n  IdentityFile {home}/.ssh/mine\n")
    with pytest.raises(BoardError, match="does not let this user in"):
        open_board()


def test_a_key_of_the_users_config_that_cannot_be_read_is_named(open_board, server, home):
    (home / ".ssh" / "id_ed25519").unlink()
    (home / ".ssh" / "keys").mkdir()
    (home / ".ssh" / "config").write_text(f"Host *\n  IdentityFile {home}/.ssh/keys\n")
    with pytest.raises(BoardError, match=r"your key .*/keys .*name another as IdentityFile"):
        open_board()


def test_a_server_that_takes_passwords_alone_names_the_setting(open_board, server):
    restart(server, "PubkeyAuthentication no", "PasswordAuthentication yes")
    with pytest.raises(BoardError, match="takes no keys: write `PubkeyAuthentication yes` into"):
        open_board()


def test_a_server_without_sftp_names_the_setting(open_board, server):
    restart(server, "Subsystem netconf /bin/false")
    with pytest.raises(BoardError, match="no SFTP: write `Subsystem sftp internal-sftp` into"):
        open_board()


def restart(server, *lines):
    """Start the server with these settings in place of those that it had."""
    server.stop()
    config = server.folder / "sshd_config"
    names = tuple(line.split()[0] for line in lines)
    kept = [line for line in config.read_text().splitlines() if not line.startswith(names)]
    config.write_text("\n".join([*kept, *lines, ""]))
    server.start()


def test_a_refused_connection_names_the_port(open_board, server):
    server.stop()
    with pytest.raises(BoardError, match=f"refuses connections on port {server.port}: start"):
        open_board()


def test_a_name_that_means_nothing_is_said_at_once(open_board):
    with pytest.raises(BoardError, match=r"there is no machine named no-such-board\.invalid"):
        open_board(host="no-such-board.invalid")


def test_a_server_that_hangs_up_is_tried_again(proxy, server):
    """As one does whose MaxStartups are used up."""
    proxy.hang_ups = 2
    session = Session(find_route(Address("127.0.0.1", server.user, proxy.port)))
    assert session.run("echo here").output == "here\n"
    assert proxy.connections == 3
    session.close()


def test_a_known_board_that_does_not_answer_yet_is_waited_for(board_file, server):
    server.stop()
    board = SshBoard("test", board_file, patience_s=20)
    threading.Timer(1.0, server.start).start()
    said: list[tuple[str, float]] = []
    start_s = time.monotonic()
    with told_of_silence(lambda text: said.append((text, time.monotonic() - start_s))):
        board.open()
    board.close()
    (silent, after_s), (again, _) = said
    assert f"refuses connections on port {server.port}: start" in silent
    assert silent.endswith("; this is tried again for 20 s")
    assert after_s < 0.9
    assert again == "it answers again"


def test_the_users_config_is_followed_through_a_jump_host(board_file, server, home, build_kernel):
    make_key(home / ".ssh" / "board key")
    (home / ".ssh" / "id_ed25519").unlink()
    public = (home / ".ssh" / "board key.pub").read_text()
    (server.folder / "authorized_keys").write_text(public)
    (home / ".ssh" / "config").write_text(
        f"Host Jump\n  HostName 127.0.0.1\n  Port {server.port}\n"
        "Host my-board\n  HostName 127.0.0.1\n  ProxyJump Jump\n"
        f"  Port {server.port}\n"
        f'Host *\n  User {server.user}\n  IdentityFile "{home}/.ssh/board key"\n'
    )
    ssh = dataclasses.replace(board_file.ssh, host="my-board", port=None)
    board = SshBoard("test", dataclasses.replace(board_file, ssh=ssh), patience_s=0)
    board.open()
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason
    assert (server.folder / "log").read_text().count("Accepted publickey") == 2
    board.close()


FORWARD = """
import os, select, socket, sys
link = socket.create_connection((sys.argv[1], int(sys.argv[2])))
while True:
    for ready in select.select([0, link], [], [])[0]:
        data = os.read(0, 65536) if ready == 0 else link.recv(65536)
        if not data:
            sys.exit()
        link.sendall(data) if ready == 0 else os.write(1, data)
"""


def test_the_users_proxy_command_is_followed(open_board, server, home, build_kernel):
    script = home / "it's a proxy.py"
    script.write_text(FORWARD)
    (home / ".ssh" / "config").write_text(
        f"Host my-board\n  HostName 127.0.0.1\n  Port {server.port}\n"
        f'  ProxyCommand {sys.executable} "{script}" %h %p\n'
    )
    board = open_board(host="my-board", port=None)
    measurement = board.measure(build_kernel(SCALE, doubled()), 1, TIMEOUT_S)
    assert measurement.status == "correct", measurement.reason
    assert len(processes_with(str(script))) == 1
    board.close()
    deadline = time.monotonic() + 200
    while processes_with(str(script)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_included_files_of_the_users_config_count(home):
    folder = home / ".ssh"
    (folder / "more").mkdir(parents=True)
    (folder / "more" / "one").write_text("  User first\nHost board\n  HostName 10.0.0.7\n")
    (folder / "two").write_text("Host board\n  Port 2222\nInclude two\n")
    (folder / "config").write_text(
        "Host other\n  Port 9\nHost board\n"
        f'include more/* "{folder}/two" nowhere/*\n  IdentityFile {folder}/two\nPort 22\n'
    )
    (hop,) = find_route(Address("board"))
    assert (hop.user, hop.host, hop.port) == ("first", "10.0.0.7", 2222)
    assert hop.identity_files == (str(folder / "two"),)
    (other,) = find_route(Address("other", "me"))
    assert (other.host, other.port, other.identity_files) == ("other", 9, ())


def test_a_file_that_cannot_be_included_is_named(home):
    (home / ".ssh" / "config.d").mkdir(parents=True)
    (home / ".ssh" / "config").write_text("Include config.d\n")
    with pytest.raises(BoardError, match=r"config\.d"):
        find_route(Address("board", "me"))


def test_a_jump_host_that_is_down_is_named(open_board, server, home):
    (home / ".ssh" / "config").write_text(
        f"Host jump\n  HostName 127.0.0.1\n  Port {free_port()}\n"
        "Host 127.0.0.1 !jump\n  ProxyJump jump\n"
    )
    with pytest.raises(BoardError, match="refuses connections"):
        open_board()


def test_jump_hosts_in_a_circle_are_noticed(home, open_board):
    (home / ".ssh" / "config").write_text("Host a\n  ProxyJump b\nHost b\n  ProxyJump a\n")
    with pytest.raises(BoardError, match="goes in circles"):
        open_board(host="a")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ssh://me@board:2222", Address("board", "me", 2222)),
        ("Board", Address("Board")),
        ("ssh://[fe80::1]:22", Address("fe80::1", None, 22)),
        ("ssh://me%40home@10.0.0.7", Address("10.0.0.7", "me@home")),
    ],
)
def test_addresses_are_read(text, address):
    assert parse_address(text) == address


def test_an_address_of_version_6_can_be_typed_again():
    (hop,) = find_route(Address("fe80::1", "me", 2222))
    assert str(hop) == "me@[fe80::1]:2222"
    assert parse_address(f"ssh://{hop}") == Address("fe80::1", "me", 2222)
    with pytest.raises(BoardError, match=r"like ssh://user@\[fe80::1\]:22$"):
        parse_address("ssh://me@fe80::1")


@pytest.mark.parametrize("text", ["ssh://", "ssh://board:port", "ssh://board/path", "ssh://a:b@c"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(BoardError, match="is not an address: write it like ssh://"):
        parse_address(text)


def test_trust_asks_and_then_writes_what_ssh_writes(server, open_board):
    server.known_hosts.write_text("")
    address = f"ssh://{server.user}@127.0.0.1:{server.port}"
    said = io.StringIO()
    assert not trust(address, io.StringIO("\n"), said)
    assert server.known_hosts.read_text() == ""
    assert trust(address, io.StringIO("yes\n"), said)
    fingerprints = set(re.findall(r"SHA256:[\w+/]{43}", said.getvalue()))
    assert len(fingerprints) == 1
    open_board()
    assert trust(address, io.StringIO(""), said)
    assert "is trusted already" in said.getvalue()


def test_trust_names_the_command_that_prints_the_key_on_the_board(server, tmp_path):
    server.known_hosts.write_text("")
    said = io.StringIO()
    trust(f"ssh://{server.user}@127.0.0.1:{server.port}", io.StringIO(""), said)
    command = re.findall("To print it on the board: (.*)", said.getvalue())[0]
    # A board has a key of each type.
    make_key(tmp_path / "ssh_host_rsa_key", "rsa")
    shutil.copy(server.folder / "host_key.pub", tmp_path / "ssh_host_ed25519_key.pub")
    command = command.replace("/etc/ssh", str(tmp_path))
    printed = subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"SHA256:\S+", printed) == re.findall(r"SHA256:[^\s.]+", said.getvalue())


def test_trust_never_replaces_a_key(server):
    server.stop()
    make_key(server.folder / "host_key")
    server.start()
    before = server.known_hosts.read_text()
    with pytest.raises(BoardError, match="is known by another"):
        trust(f"ssh://127.0.0.1:{server.port}", io.StringIO("yes\n"), io.StringIO())
    assert server.known_hosts.read_text() == before


def test_a_silent_board_is_a_lost_link(proxy, server):
    session = Session(find_route(Address("127.0.0.1", server.user, proxy.port)))
    assert session.find("/etc/passwd") is not None
    proxy.cut()
    with pytest.raises(LinkLost):
        session.find("anything")
    session.close()


def test_a_link_that_ends_during_the_first_command_is_no_shell_that_runs_nothing(proxy, server):
    session = Session(find_route(Address("127.0.0.1", server.user, proxy.port)))
    session.start("sleep 20")
    proxy.close()
    with pytest.raises(LinkLost) as raised:
        session.wait(20)
    assert "chsh" not in str(raised.value)
    session.close()


def test_a_commands_outputs_and_status_come_back(server):
    session = Session(find_route(Address("127.0.0.1", server.user, server.port)))
    result = session.run("echo out; echo err >&2; cat; exit 3")
    assert (result.status, result.output) == (3, "out\nerr\n")
    assert session.run("true").status == 0
    session.close()
