"""The net header and the configuration space as bytes, written by hand from VIRTIO 1.3, 5.1.4 and 5.1.6."""

import pytest
from scapy_vhost.features import Feature, mask
from scapy_vhost.net_header import NetConfig, NetHeader

FULL = NetHeader(flags=0x01, gso_type=0x84, hdr_len=0x0203, gso_size=0x0405, csum_start=0x0607, csum_offset=0x0809,
                 num_buffers=0x0A0B, hash_value=0x0C0D0E0F, hash_report=0x1011)
IMAGE = bytes.fromhex("01" "84" "0302" "0504" "0706" "0908" "0b0a" "0f0e0d0c" "1110" "0000")


@pytest.mark.parametrize("size", [10, 12, 20])
def test_fields_lie_where_the_document_has_them(size):
    assert FULL.pack(size) == IMAGE[:size]


@pytest.mark.parametrize("size, absent", [
    (10, {"num_buffers": 0, "hash_value": 0, "hash_report": 0}), (12, {"hash_value": 0, "hash_report": 0}), (20, {})])
def test_unpack_reads_what_fits_and_ignores_the_rest(size, absent):
    assert NetHeader.unpack(IMAGE[:size] + b"frame", size) == NetHeader(**{**vars(FULL), **absent})


def test_padding_is_not_looked_at():
    assert NetHeader.unpack(IMAGE[:18] + b"\xff\xff", 20) == FULL


def test_the_default_is_all_zero():
    assert [NetHeader().pack(size) for size in (10, 12, 20)] == [bytes(10), bytes(12), bytes(20)]


@pytest.mark.parametrize("accepted, size", [
    ((), 10), ((Feature.MRG_RXBUF,), 12), ((Feature.VERSION_1,), 12), ((Feature.VERSION_1, Feature.MRG_RXBUF), 12),
    ((Feature.VERSION_1, Feature.HASH_REPORT), 20), ((Feature.VERSION_1, Feature.HASH_REPORT, Feature.MRG_RXBUF), 20),
    ((Feature.HASH_REPORT,), 10), ((Feature.HASH_REPORT, Feature.MRG_RXBUF), 12),
    ((one for one in Feature if one not in (Feature.VERSION_1, Feature.MRG_RXBUF)), 10)])
def test_NET_43_size_of_the_header_by_what_was_accepted(accepted, size):
    assert NetHeader.size_for(mask(*accepted)) == size


def test_constants():
    assert (NetHeader.NEEDS_CSUM, NetHeader.DATA_VALID, NetHeader.RSC_INFO) == (1, 2, 4)
    assert (NetHeader.GSO_NONE, NetHeader.GSO_TCPV4, NetHeader.GSO_UDP, NetHeader.GSO_TCPV6, NetHeader.GSO_UDP_L4,
            NetHeader.GSO_ECN) == (0, 1, 3, 4, 5, 0x80)


@pytest.mark.parametrize("size", [0, 11, 24])
def test_other_sizes_are_refused(size):
    message = f"a net header has 10, 12 or 20 bytes, not {size}"
    with pytest.raises(ValueError, match=message):
        NetHeader().pack(size)
    with pytest.raises(ValueError, match=message):
        NetHeader.unpack(bytes(32), size)


def test_a_header_that_is_cut_is_refused():
    with pytest.raises(ValueError, match="a net header of 12 bytes in 11 bytes"):
        NetHeader.unpack(bytes(11), 12)


@pytest.mark.parametrize("field, value", [("flags", 256), ("hdr_len", 65536), ("csum_start", -1),
                                          ("num_buffers", None), ("num_buffers", 65536)])
def test_values_that_do_not_fit_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=f"a net header of 12 bytes of .*{field} {value}[,:]"):
        NetHeader(**{field: value}).pack(12)


def test_a_legacy_header_has_no_place_for_num_buffers():
    assert NetHeader(flags=1, num_buffers=None).pack(10) == b"\x01" + bytes(9)


def test_the_configuration_space_byte_by_byte():
    config = NetConfig(mac=b"\x52\x54\x00\x12\x34\x56", status=0x0102, max_virtqueue_pairs=0x0304, mtu=0x0506,
                       speed=0x0708090A, duplex=0x0B, rss_max_key_size=0x0C, rss_max_indirection_table_length=0x0D0E,
                       supported_hash_types=0x0F101112, supported_tunnel_types=0x13141516)
    assert bytes(config) == bytes.fromhex("525400123456" "0201" "0403" "0605" "0a090807" "0b" "0c" "0e0d"
                                          "1211100f" "16151413")
    assert len(bytes(config)) == NetConfig.SIZE == 28


def test_the_default_device_is_up_with_one_pair_and_unknown_speed():
    assert bytes(NetConfig()) == bytes.fromhex("020000000001" "0100" "0100" "dc05" "ffffffff" "ff" "28" "8000"
                                               "ff010000" "00000000")
    assert (NetConfig.LINK_UP, NetConfig.ANNOUNCE) == (1, 2)


@pytest.mark.parametrize("mac", [b"", bytes(5), bytes(7)])
def test_a_mac_address_has_six_bytes(mac):
    with pytest.raises(ValueError, match=f"a MAC address of {len(mac)} bytes"):
        bytes(NetConfig(mac=mac))


def test_a_config_value_that_does_not_fit_is_refused_by_name():
    with pytest.raises(ValueError, match="a configuration space of .*mtu 65536,"):
        bytes(NetConfig(mtu=65536))
