"""The life of a back end: where it listens or connects, one connection after the other, and its end."""

import contextlib
import os
import resource
import socket
import struct

import pytest
from front_end import BUFFERS, TX, FrontEnd, bring_up
from scapy_vhost import Backend, Completion, Feature, NetConfig, Offer, VhostPort, mask
from scapy_vhost.knobs import wait_until


def test_the_next_front_end_finds_a_fresh_device(make, tmp_path):
    backend, front = make()
    bring_up(front)
    backend.wait_ready(5)
    front.sock.shutdown(2)
    wait_until(lambda: not backend.ready(), 5, "the end of the first connection")
    with FrontEnd(tmp_path / "s") as second:
        assert second.ask_u64(40) == 0
        assert backend.connections == 2


def test_a_killed_connection_is_not_ready_from_then_on(make):
    backend, front = make()
    bring_up(front)
    backend.wait_ready(5)
    backend.kill()
    assert not backend.ready()
    with pytest.raises(TimeoutError, match="within 0.1 s: the last connection on .* has ended"):
        backend.wait_ready(0.1)


def test_a_message_that_cannot_be_read_ends_the_connection_and_not_the_back_end(make, tmp_path):
    backend, front = make()
    front.send(1, flags=2)
    with pytest.raises(ConnectionError):
        front.read(1)
    assert backend.log.faults() == ["request 1: flags 0x2 are not of version 1"]
    with FrontEnd(tmp_path / "s") as second:
        assert second.ask_u64(40) == 0


def test_what_is_set_before_the_driver_comes_holds(make):
    backend, front = make()
    backend.hold("tx", Completion.HELD)
    backend.want_kicks(1, False)
    bring_up(front)
    backend.wait_ready(5)
    front.post(TX, 0, BUFFERS, 72, 0)
    front.make_available(TX, 0)
    wait_until(lambda: backend.frames, 5, "a frame")
    assert front.used(TX, 0) == (0, [])
    assert struct.unpack_from("<H", front.memory, TX + 0x8000) == (1,), "NO_NOTIFY"
    with pytest.raises(ValueError, match=r"release of \[0, 0\] in tx: 1 are held"):
        backend.release("tx", [0, 0])
    front.ask(11, struct.pack("=II", 1, 0))
    backend.release("tx")
    assert front.used(TX, 0) == (0, []), "the driver stopped the queue: its buffers are its own again"


@pytest.mark.parametrize("path, what", [("x" * 120, "has [0-9]+ bytes, 107 are possible"), ("taken", "remove it")])
def test_a_path_that_cannot_be_listened_on_leaves_nothing_behind(tmp_path, path, what):
    (tmp_path / "taken").touch()
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=what):
        Backend(tmp_path / path).__enter__()
    assert os.listdir("/proc/self/fd") == before


def test_stopping_again_does_nothing(tmp_path):
    with Backend(tmp_path / "s") as backend:
        (tmp_path / "s").unlink()
        backend.stop()
    with pytest.raises(RuntimeError, match="does not run"):
        backend.wait_ready(1)
    with pytest.raises(RuntimeError, match="ran already"):
        backend.__enter__()


def test_words_of_features_are_told_from_numbers_of_bits():
    with pytest.raises(TypeError, match=r"mask\(Feature.MRG_RXBUF\)"):
        Offer(features=Feature.MRG_RXBUF)
    assert Offer(config=NetConfig(mtu=9000)).config == bytes(NetConfig(mtu=9000))


def test_a_client_back_end_finds_a_front_end_that_listens(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        with Backend(tmp_path / "s", server=False) as backend:
            server.bind(str(tmp_path / "s"))
            server.listen(1)
            server.settimeout(5)
            for connection in (1, 2):
                with FrontEnd(sock=server.accept()[0]) as front:
                    bring_up(front)
                    backend.wait_ready(5)
                    assert backend.connections == connection
                wait_until(lambda: not backend.ready(), 5, "the end")


def test_a_client_back_end_says_whom_it_cannot_reach(tmp_path):
    backend = Backend(tmp_path / "s", server=False)
    with backend, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        with pytest.raises(TimeoutError, match="is not ready within 0.2 s: nobody listens on .*/s$"):
            backend.wait_ready(0.2)
        server.bind(str(tmp_path / "s"))
        server.listen(1)
        server.settimeout(5)
        assert server.accept()[0].close() is None
        wait_until(lambda: backend.log.count("disconnect") == 1, 5, "the end")


def test_a_client_back_end_does_not_hang_where_nobody_accepts(tmp_path):
    """A listener with a full backlog: connect() would wait for it without a limit, and stop() with it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server, contextlib.ExitStack() as others:
        server.bind(str(tmp_path / "s"))
        server.listen(0)
        first = others.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        first.connect(str(tmp_path / "s"))
        with Backend(tmp_path / "s", server=False) as backend:
            with pytest.raises(TimeoutError, match="within 0.2 s: who listens on .*/s accepts no connection$"):
                backend.wait_ready(0.2)
            server.settimeout(5)
            server.accept()[0].close()
            with FrontEnd(sock=server.accept()[0]) as front:
                bring_up(front)
                backend.wait_ready(5)


def test_a_client_back_end_names_the_path_of_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeError, match="thread ended: .*cannot connect to .*file/s: Not a directory"):
        with Backend(tmp_path / "file" / "s", server=False) as backend:
            backend.wait_ready(5)


def test_file_descriptors_from_1024_on_do_as_well(tmp_path):
    """A process with many files open, as the harness of many ports is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip(f"this process may open {hard} files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    with open("/dev/null") as null, contextlib.ExitStack() as taken:
        taken.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        while (fd := os.dup(null.fileno())) < 1024:
            taken.callback(os.close, fd)
        taken.callback(os.close, fd)
        with VhostPort(tmp_path / "s") as port, FrontEnd(tmp_path / "s") as front:
            bring_up(front)
            port.wait_ready(5)
            front.post(TX, 0, BUFFERS, 72, 0)
            front.make_available(TX, 0)
            os.eventfd_write(front.kicks[1], 1)
            assert len(port.take().data) == 60
            assert min(port.fileno(), port.backend.device.queues[1].kick) >= 1024
            wait_until(lambda: port.backend.log.count("kick", 1) == 1, 5, "the kick")
