"""What a front end does whose back end went away: it says so once, answers, and ends well."""

SAID = "the back end closed the connection"


def assert_survived(front, ports, commands):
    """Link down on each of the `ports` of net_virtio_fit, one line for each, `commands` answered, exit status 0."""
    for port in ports:
        front.wait_link(False, port)
    received = [front.port_stats(port)["RX-packets"] for port in ports]
    front.cmds(*commands)
    assert front.alive()
    if not commands:
        assert [front.port_stats(port)["RX-packets"] for port in ports] == received
    assert front.quit() == 0
    for number in range(len(ports)):
        assert front.log.count(f"net_virtio_fit{number}: {SAID}") == 1
    assert front.log.count(SAID) == len(ports)
