"""The bench itself: its parsers and frames do what the tests rely on. Needs no DPDK process."""

import struct

import pytest

from bench import counts, driver, frames, messages, parse, prompt
from bench.wait import Timeout, until

STATS = """
  ######################## NIC statistics for port 0  ########################
  RX-packets: 211        RX-missed: 1          RX-bytes:  178176
  RX-errors: 2
  RX-nombuf:  3
  TX-packets: 4          TX-errors: 5          TX-bytes:  6
"""
POOL = """
  populated_size=4096
  total_obj_size=2368
    cache_count[0]=250
    total_cache_count=316
  common_pool_count=3052
"""


def test_parse_port_stats():
    assert parse.port_stats(STATS) == {"RX-packets": 211, "RX-missed": 1, "RX-bytes": 178176, "RX-errors": 2,
                                       "RX-nombuf": 3, "TX-packets": 4, "TX-errors": 5, "TX-bytes": 6}
    with pytest.raises(AssertionError):
        parse.port_stats(STATS.replace("RX-errors: 2", ""))


def test_parse_xstats():
    text = "###### NIC extended statistics for port 0 \nrx_good_packets: 7\nrx_q0_segments: 18446744073709551615\n"
    assert parse.xstats(text) == {"rx_good_packets": 7, "rx_q0_segments": 2**64 - 1}
    with pytest.raises(AssertionError, match="twice"):
        parse.xstats(text + "rx_good_packets: 7\n")
    with pytest.raises(AssertionError):
        parse.xstats("Cannot get xstats\n")


def test_parse_mempool():
    pool = parse.mempool(POOL)
    assert (pool.in_use, pool.object_size) == (4096 - 3052 - 316, 2368)


@pytest.mark.parametrize("size", [60, 1514, 9014])
def test_frames_are_valid_and_differ(size):
    numbers = [0, 1, 12, 13, 14, 65535, 65536, 0xFFFF0001]
    made = [frames.frame(size, n) for n in numbers]
    assert len(set(made)) == len(numbers)
    for number, frame in zip(numbers, made):
        assert len(frame) == size
        assert frame[42:46] == struct.pack("!I", number)
        ip = frames.IP(frame[14:])
        assert ip.len == size - 14
        del ip.chksum, ip[frames.UDP].chksum
        assert bytes(ip) == frame[14:], "scapy computes the same checksums again"


def test_boundary_sizes_have_every_boundary():
    sizes = frames.boundary_sizes()
    for room in (1536, 2048, 4096):
        assert set(range(room - 13, room + 14)) <= set(sizes)
    assert (sizes[0], sizes[-1]) == (60, 9014)
    assert {60, 61, 62, 63, 64, 127, 128, 129, 1514, 1515, 1516, 1517, 1518, 9000} <= set(sizes)


def test_pcap_files_and_comparison(tmp_path):
    sent = frames.frames([60, 1514, 9014])
    got = frames.read(frames.write(tmp_path / "a.pcap", sent))
    frames.assert_same(sent, got)
    for changed in (got[:-1], got + got[:1], got[::-1], [got[0], got[1][:-1] + b"x", got[2]]):
        with pytest.raises(AssertionError):
            frames.assert_same(sent, changed)
    (tmp_path / "cut.pcap").write_bytes((tmp_path / "a.pcap").read_bytes()[:-9014 - 16]
                                        + struct.pack("<IIII", 0, 0, 60, 9014) + bytes(60))
    with pytest.raises(AssertionError, match="60 of 9014"):
        frames.read(tmp_path / "cut.pcap")


def test_segments_of_a_frame():
    """The first segment holds the room, each other one the room and the 12 bytes of the header."""
    table = {(1, 1536): 1, (1536, 1536): 1, (1537, 1536): 2, (1536 + 1548, 1536): 2, (1536 + 1549, 1536): 3,
             (9000, 1536): 6, (9014, 256): 34}
    assert {key: counts.segments(*key) for key in table} == table


def test_messages_are_counted_by_port():
    log = "EAL: x\nnet_virtio_fit0: one thing\nnet_virtio_fit01: other\nvdev_probe(): net_virtio_fit0 device\n"
    assert messages.lines(log, "net_virtio_fit0") == ["one thing"]
    assert messages.assert_one(log, "net_virtio_fit0", "thing", ("two", "one")) == "one thing"
    with pytest.raises(AssertionError, match="no 'two'"):
        messages.assert_one(log, "net_virtio_fit0", "two")
    with pytest.raises(AssertionError, match="2 lines"):
        messages.assert_one(log + "net_virtio_fit0: again\n", "net_virtio_fit0")


def test_waiting_ends_at_its_deadline():
    with pytest.raises(Timeout, match="never"):
        until(lambda: False, "never", seconds=0.05)


def test_missing_plugin_is_an_error_that_says_what_to_do(tmp_path):
    with pytest.raises(FileNotFoundError, match="--driver=virtio_user"):
        driver.find("virtio_fit", tmp_path / "no.so")


@pytest.mark.parametrize("text, before", [
    ("one\ntestpmd> ", "one\n"),
    ("one\ntestpmd> two\ntestpmd> ", "one\n"),
    ("set fwd io\ntestpmdVHOST_CONFIG: ready\n> \nPort 0: link state change\n", "set fwd io\nVHOST_CONFIG: ready\n"),
    ("tVHOST_CONFIG: a\nestpmd>\nPort 0: link state change\n ", "VHOST_CONFIG: a\n\nPort 0: link state change\n"),
    ("one\ntestpmd>", None),
    ("testpmd: port 0 has 2 rx queues\n  tx queues: > 2\n", None),
    ("", None),
])
def test_the_prompt_is_found_where_another_thread_logs_within_it(text, before):
    assert prompt.before_prompt(text) == before
