"""When a packed ring asks for kicks and when its driver asks for calls."""

import pytest
from ring_images import DATA, GUEST, WRITE, PackedDriver
from scapy_vhost.errors import RingError
from scapy_vhost.packed import PackedRing

AT = GUEST + DATA
ENABLE, DISABLE, DESC = 0, 1, 2


def place(laps_and_slots, size):
    """Slot and wrap counter after so many slots from the start of a fresh ring."""
    laps, slot = divmod(laps_and_slots, size)
    return slot, 1 - laps % 2


def started(size, slots, **options):
    """A driver and a ring that both used so many slots already."""
    driver = PackedDriver(size)
    driver.slot, driver.wrap = place(slots, size)
    half = driver.slot | driver.wrap << 15
    return driver, driver.ring(PackedRing, base=half | half << 16, **options)


@pytest.mark.parametrize("event_idx", [False, True])
def test_calls_follow_the_flags(event_idx):
    driver, ring = started(4, 0, event_idx=event_idx)
    for buffer_id in range(3):
        driver.offer(buffer_id, (AT, 8, WRITE))
    assert ring.wants_call() is False
    ring.complete(ring.take(), 0)
    assert (ring.wants_call(), ring.wants_call()) == (True, False)
    driver.set_event(DISABLE)
    ring.complete(ring.take(), 0)
    assert ring.wants_call() is False
    driver.set_event(ENABLE)
    assert ring.wants_call() is False
    ring.complete(ring.take(), 0)
    assert ring.wants_call() is True


@pytest.mark.parametrize("size", [4, 7])
@pytest.mark.parametrize("chains", [[1], [2, 1], [1, 3], [4]])
def test_event_rule_over_batches(size, chains):
    """From every place in two laps, for every event in two laps: called when the completed span passed it."""
    span = sum(chains)
    for start in range(2 * size):
        for ahead in range(2 * size):
            driver, ring = started(size, start, event_idx=True)
            for buffer_id, count in enumerate(chains):
                driver.offer(buffer_id, *[(AT, 8, WRITE)] * count)
            driver.set_event(DESC, *place(start + ahead, size))
            ring.complete_batch([(ring.take(), 0) for _ in chains])
            assert ring.wants_call() is (ahead < span), (start, ahead)


def test_event_rule_counts_from_the_last_question():
    driver, ring = started(3, 2, event_idx=True)
    driver.set_event(DESC, 0, 0)
    for buffer_id, called in ((1, False), (2, True), (3, False)):
        driver.offer(buffer_id, (AT, 8, WRITE))
        ring.complete(ring.take(), 0)
        assert ring.wants_call() is called


def test_a_span_of_two_laps_passed_every_event():
    for slot in range(3):
        for wrap in (0, 1):
            driver, ring = started(3, 1, event_idx=True)
            driver.set_event(DESC, slot, wrap)
            for _ in range(6):
                driver.offer(1, (AT, 8, WRITE))
                ring.complete(ring.take(), 0)
            assert ring.wants_call() is True


def test_an_in_order_batch_passes_all_its_slots():
    driver, ring = started(4, 3, event_idx=True, in_order=True)
    driver.offer(1, (AT, 8, 0), (AT, 8, 0))
    driver.offer(2, (AT, 8, 0))
    driver.set_event(DESC, 1, 0)
    ring.complete_in_order_batch([ring.take(), ring.take()], 0)
    assert ring.wants_call() is True


@pytest.mark.parametrize("event_idx, flags, offset, message", [
    (False, 2, 0, "flags that are not allowed here: 0x0002"),
    (True, 3, 0, "flags that are not allowed here: 0x0003"),
    (True, 0x8000, 0, "flags that are not allowed here: 0x8000"),
    (True, 2, 4, "offset is outside the ring: 4"),
])
def test_driver_events_that_are_refused(event_idx, flags, offset, message):
    driver, ring = started(4, 0, event_idx=event_idx)
    driver.offer(1, (AT, 8, WRITE))
    ring.complete(ring.take(), 0)
    driver.set_event(flags, offset, 1)
    with pytest.raises(RingError, match="^packed ring, driver event: " + message):
        ring.wants_call()
    driver.set_event(ENABLE)
    assert ring.wants_call() is True


def test_kicks_without_event_idx():
    driver, ring = started(4, 0)
    driver.offer(1, (AT, 8, WRITE))
    ring.want_kicks(False)
    assert driver.device_event() == (0, 0, DISABLE)
    ring.take()
    assert (ring.available(), driver.device_event()) == (0, (0, 0, DISABLE))
    ring.want_kicks(True)
    assert (ring.available(), driver.device_event()) == (0, (0, 0, ENABLE))


def test_kicks_with_event_idx_name_the_place_of_the_next_chain():
    driver, ring = started(3, 1, event_idx=True)
    ring.want_kicks(True)
    assert driver.device_event() == (1, 1, DESC)
    driver.offer(1, (AT, 8, WRITE), (AT, 8, WRITE))
    ring.take()
    assert driver.device_event() == (1, 1, DESC)
    assert (ring.available(), driver.device_event()) == (0, (0, 0, DESC))
    ring.want_kicks(False)
    assert (ring.available(), driver.device_event()) == (0, (0, 0, DISABLE))
    driver.offer(2, (AT, 8, WRITE))
    ring.want_kicks(True)
    assert driver.device_event() == (0, 0, ENABLE)
    ring.take()
    assert (ring.take(), driver.device_event()) == (None, (1, 0, DESC))


def test_a_chain_that_comes_while_the_event_is_stored_is_seen():
    driver, ring = started(3, 0, event_idx=True)
    ring._fence = lambda: driver.offer(1, (AT, 8, WRITE))
    assert (ring.available(), driver.device_event()) == (1, (0, 1, DESC))


def test_the_fence_stands_between_publishing_and_the_drivers_word():
    driver, ring = started(3, 0)
    driver.offer(1, (AT, 8, WRITE))
    ring.complete(ring.take(), 0)
    ring._fence = lambda: driver.set_event(DISABLE if driver.used({1: 1}) else ENABLE)
    assert ring.wants_call() is False


def test_the_fence_stands_behind_the_wish_for_kicks():
    driver, ring = started(3, 0)
    stored = []
    ring._fence = lambda: stored.append(driver.device_event())
    ring.want_kicks(False)
    ring.want_kicks(True)
    assert stored == [(0, 0, DISABLE), (0, 0, ENABLE)]
