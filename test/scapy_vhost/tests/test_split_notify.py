"""When a split ring asks for kicks and when its driver asks for calls."""

import pytest
from ring_images import DEVICE, WRITE, SplitDriver
from scapy_vhost.errors import RingError
from scapy_vhost.split import SplitRing


def test_calls_follow_the_flag():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    assert ring.wants_call() is False
    ring.complete(ring.take(), 0)
    assert (ring.wants_call(), ring.wants_call()) == (True, False)
    driver.set_flags(1)
    driver.set_used_event(1)
    ring.complete(ring.take(), 0)
    assert ring.wants_call() is False


@pytest.mark.parametrize("event_idx, flags", [(False, 2), (False, 0x8000), (True, 1)])
def test_flags_of_the_available_ring_that_are_refused(event_idx, flags):
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing, event_idx=event_idx)
    ring.complete(ring.take(), 0)
    driver.set_flags(flags)
    with pytest.raises(RingError, match=f"^split ring, available ring: flags .*: {flags:#06x}"):
        ring.wants_call()
    driver.set_flags(0)
    assert ring.wants_call() is True


@pytest.mark.parametrize("start, batch, called", [
    (0, 1, {0}), (0, 3, {0, 1, 2}), (2, 4, {2, 3, 4, 5}),
    (65535, 1, {65535}), (65534, 4, {65534, 65535, 0, 1}), (65535, 2, {65535, 0}),
])
def test_event_rule_over_batches(start, batch, called):
    """The event is an index before the batch, in it or after it, also across the wrap."""
    for event in [(start + step) % 65536 for step in range(-3, 8)] + [0, 32768, 65535]:
        driver = SplitDriver(4)
        driver.index = start
        driver.memory.put16(DEVICE + 2, start)
        for slot in range(4):
            driver.descriptor(slot, flags=WRITE)
        driver.offer(*range(batch))
        driver.set_used_event(event)
        ring = driver.ring(SplitRing, event_idx=True, base=start)
        ring.complete_batch([(ring.take(), 0) for _ in range(batch)])
        assert ring.wants_call() is (event in called), event


def test_event_rule_counts_from_the_last_question():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing, event_idx=True)
    driver.set_used_event(1)
    ring.complete(ring.take(), 0)
    assert ring.wants_call() is False
    ring.complete(ring.take(), 0)
    ring.complete(ring.take(), 0)
    assert ring.wants_call() is True
    ring.complete(ring.take(), 0)
    assert ring.wants_call() is False


def test_a_span_of_more_than_65535_passed_every_event():
    driver = SplitDriver.offered(count=1)
    ring = driver.ring(SplitRing, event_idx=True)
    ring.complete(ring.take(), 0)
    for _ in range(65536):
        driver.offer(0)
        ring.complete(ring.take(), 0)
    driver.set_used_event(3)
    assert ring.wants_call() is True


def test_kicks_without_event_idx():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    ring.want_kicks(False)
    assert (driver.used_flags(), driver.avail_event()) == (1, 0)
    ring.take()
    assert driver.used_flags() == 1
    ring.want_kicks(True)
    assert (driver.used_flags(), driver.avail_event()) == (0, 0)


def test_kicks_with_event_idx_name_the_next_new_chain():
    driver = SplitDriver.offered(count=2)
    ring = driver.ring(SplitRing, event_idx=True)
    ring.want_kicks(True)
    assert (driver.avail_event(), driver.used_flags()) == (2, 0)
    driver.offer(0)
    ring.take()
    assert driver.avail_event() == 3
    ring.want_kicks(False)
    assert driver.avail_event() == 2
    driver.offer(1)
    ring.available()
    assert (driver.avail_event(), driver.used_flags()) == (3, 0)
    ring.want_kicks(True)
    assert driver.avail_event() == 4


def test_a_chain_that_comes_while_the_event_is_stored_is_seen():
    driver = SplitDriver.offered(count=1)
    ring = driver.ring(SplitRing, event_idx=True)
    ring.take()
    ring._fence = lambda: driver.offer(1) if driver.index == 1 else None
    driver.descriptor(1)
    ring._armed = None
    assert (ring.available(), driver.avail_event()) == (1, 2)


def test_the_fence_stands_between_publishing_and_the_drivers_word():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    ring.complete(ring.take(), 0)
    ring._fence = lambda: driver.set_flags(driver.used_index())
    assert ring.wants_call() is False


def test_the_fence_stands_behind_the_wish_for_kicks():
    driver = SplitDriver.offered()
    ring = driver.ring(SplitRing)
    stored = []
    ring._fence = lambda: stored.append(driver.used_flags())
    ring.want_kicks(False)
    ring.want_kicks(True)
    assert stored == [1, 0]
