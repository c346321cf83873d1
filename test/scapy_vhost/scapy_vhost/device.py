"""The device of one connection: what vhost-user messages make of it (the state machine)."""

import ctypes
import os
import socket

from .connection import close_all
from .dirty_log import DirtyLog
from .errors import ProtocolError, VhostError
from .features import Feature, ProtocolFeature, mask
from .memory import SharedMemory, shared
from .message import (OWN_REPLY, RING_INDEX_MASK, RING_NO_FD, VERSION, BackendRequest, ConfigHead, Header, LogArea,
                      Request, RingAddresses, RingState, u64)
from .queue import Queue

FEATURES_OK = 8
DRIVER_OK = 4
TRANSPORT_FEATURES = 1 << 30  # VHOST_USER_F_PROTOCOL_FEATURES: says nothing of the device


class Device:
    """`offer` is what the back end offers; `knobs` what it does wrong."""

    def __init__(self, offer, knobs, log):
        self.offer, self.knobs, self.log = offer, knobs, log
        self.memory = SharedMemory()
        self.accepted = 0
        self.protocol_accepted = 0
        self.status = 0
        self.mtu = None
        self.channel = None  # back-end requests
        self.queues = {i: Queue(i, log) for i in range(2 * offer.queue_pairs + 1)}

    def close(self):
        for queue in self.queues.values():
            queue.stop()
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        self.memory.close()

    # -- what the data path asks -----------------------------------------------------------------

    @property
    def driver_ok(self):
        """Without the protocol feature STATUS nobody says it."""
        if not self.protocol_accepted >> ProtocolFeature.STATUS & 1:
            return True
        return bool(self.status & DRIVER_OK)

    @property
    def control_index(self):
        """Behind all pairs that the device has, if several pairs were agreed (VIRTIO 1.3, 5.1.2)."""
        return 2 * (self.offer.queue_pairs if self.accepted >> Feature.MQ & 1 else 1)

    def has(self, feature):
        return bool(self.accepted >> feature & 1)

    @property
    def offered(self):
        return self.offer.features | (0 if self.offer.protocol_features is None else TRANSPORT_FEATURES)

    # -- messages --------------------------------------------------------------------------------

    def handle(self, message):
        """Payload and fds of the reply; None when the message has none. ProtocolError: refused."""
        handler = getattr(self, f"on_{message.name.lower()}", None)
        if handler is None:
            close_all(message.fds)
            raise ProtocolError(f"{message.name} is not known")
        if message.fds and message.request not in TAKES_FDS:
            close_all(message.fds)
            raise ProtocolError(f"{message.name} came with {len(message.fds)} file descriptors")
        return handler(message)

    def has_own_reply(self, message):
        if message.request == Request.SET_LOG_BASE:
            return bool(self.protocol_accepted >> ProtocolFeature.LOG_SHMFD & 1)
        return message.request in OWN_REPLY

    def on_get_features(self, _):
        return u64(self.offered)

    def on_set_features(self, message):
        wanted = message.u64()
        extra = wanted & ~self.offered
        if extra:
            self.log.add("fault", f"SET_FEATURES has bits that were not offered: {extra:#x}")
        if self.status & FEATURES_OK and (wanted ^ self.accepted) & ~(TRANSPORT_FEATURES | mask(Feature.LOG_ALL)):
            self.log.add("fault", f"SET_FEATURES {wanted:#x} after FEATURES_OK with {self.accepted:#x}")
        self.accept(wanted)
        # Without bit 30 there is no SET_VRING_ENABLE and all rings are enabled.
        if not wanted & TRANSPORT_FEATURES:
            for queue in self.queues.values():
                queue.enabled = True

    def on_get_protocol_features(self, _):
        return u64(self.offer.protocol_features or 0)

    def on_set_protocol_features(self, message):
        self.protocol_accepted = message.u64()
        extra = self.protocol_accepted & ~(self.offer.protocol_features or 0)
        if extra:
            self.log.add("fault", f"SET_PROTOCOL_FEATURES has bits that were not offered: {extra:#x}")

    def on_set_owner(self, _):
        return None

    def on_reset_owner(self, _):
        return None

    def on_reset_device(self, _):
        self.status = 0
        self.accept(0)

    def on_get_queue_num(self, _):
        return u64(self.offer.queue_pairs)

    def on_get_max_mem_slots(self, _):
        return u64(self.offer.memory_slots)

    def on_set_mem_table(self, message):
        try:
            regions = message.regions()
        except ProtocolError:
            close_all(message.fds)
            raise
        self.memory.replace(regions, message.fds)
        self.start_queues()

    def on_add_mem_reg(self, message):
        fd = self.one_fd(message)
        try:
            region = message.region()
        except ProtocolError:
            os.close(fd)
            raise
        self.memory.add(region, fd)

    def on_rem_mem_reg(self, message):
        close_all(message.fds)
        self.memory.remove(message.region())

    def on_set_status(self, message):
        status = message.u64()
        if status and status & self.status != self.status:
            self.log.add("fault", f"SET_STATUS {status:#x} drops bits of {self.status:#x}")
        if status == 0:
            self.accept(0)
        self.status = status
        if self.knobs.refuses_features_ok:
            self.status &= ~FEATURES_OK

    def on_get_status(self, _):
        return u64(self.status)

    def on_net_set_mtu(self, message):
        self.mtu = message.u64()

    def on_send_rarp(self, _):
        return None

    def on_set_vring_num(self, message):
        state = message.layout(RingState)
        self.queue(state.index, message).size = state.num

    def on_set_vring_base(self, message):
        state = message.layout(RingState)
        self.queue(state.index, message).base = state.num

    def on_set_vring_addr(self, message):
        addresses = message.layout(RingAddresses)
        self.queue(addresses.index, message).set_addresses(addresses)
        self.start_queues()

    def on_get_vring_base(self, message):
        state = message.layout(RingState)
        return bytes(RingState(state.index, self.queue(state.index, message).stop()))

    def on_set_vring_kick(self, message):
        queue = self.take_fd(message, "kick")
        queue.started = True
        self.start_queues()

    def on_set_vring_call(self, message):
        self.take_fd(message, "call")

    def on_set_vring_err(self, message):
        self.take_fd(message, "error")

    def on_set_vring_enable(self, message):
        state = message.layout(RingState)
        self.queue(state.index, message).enabled = bool(state.num)

    def on_set_backend_req_fd(self, message):
        fd = self.one_fd(message)
        try:
            channel = socket.socket(fileno=fd)
        except OSError as error:
            os.close(fd)
            raise ProtocolError(f"SET_BACKEND_REQ_FD: {error.strerror}") from None
        if self.channel is not None:
            self.channel.close()
        self.channel = channel

    def on_set_log_base(self, message):
        fd = self.one_fd(message)
        try:
            if not self.protocol_accepted >> ProtocolFeature.LOG_SHMFD & 1:
                raise ProtocolError("SET_LOG_BASE without LOG_SHMFD, and a log is shared in no other way here")
            where = message.layout(LogArea)
            area = shared(fd, where.mmap_offset, where.size, "the dirty log")
        finally:
            os.close(fd)
        self.memory.dirty_log = DirtyLog(area, self.log)
        return b""  # the document has no payload for it

    def on_set_log_fd(self, message):
        self.memory.set_log_fd(self.one_fd(message))

    def on_get_config(self, message):
        head, size = self.config_head(message)
        if head.offset + head.size > len(self.offer.config):
            return b""  # a reply without payload is an error
        data = self.offer.config[head.offset:head.offset + head.size]
        return bytes(ConfigHead(head.offset, size, head.flags)) + bytes(data)

    def on_set_config(self, message):
        head, size = self.config_head(message)
        if head.offset + size > len(self.offer.config):
            raise ProtocolError(f"SET_CONFIG: {size} bytes at {head.offset} of {len(self.offer.config)}")
        start = ctypes.sizeof(ConfigHead)
        self.offer.config[head.offset:head.offset + size] = message.payload[start:start + size]

    # -- parts -----------------------------------------------------------------------------------

    def queue(self, index, message):
        if index not in self.queues:
            raise ProtocolError(f"{message.name}: queue {index} of {len(self.queues)}")
        return self.queues[index]

    def one_fd(self, message):
        if len(message.fds) != 1:
            close_all(message.fds)
            raise ProtocolError(f"{message.name} came with {len(message.fds)} file descriptors, not one")
        return message.fds[0]

    def take_fd(self, message, which):
        value = message.u64()
        if bool(value & RING_NO_FD) == bool(message.fds) or len(message.fds) > 1:
            close_all(message.fds)
            raise ProtocolError(f"{message.name}: {len(message.fds)} file descriptors with {value:#x}")
        try:
            queue = self.queue(value & RING_INDEX_MASK, message)
        except ProtocolError:
            close_all(message.fds)
            raise
        queue.set_fd(which, message.fds[0] if message.fds else None)
        return queue

    def config_head(self, message):
        if len(message.payload) < ctypes.sizeof(ConfigHead):
            raise ProtocolError(f"{message.name}: the payload has {len(message.payload)} bytes")
        head = ConfigHead.from_buffer_copy(message.payload)
        return head, min(head.size, len(message.payload) - ctypes.sizeof(ConfigHead))

    def accept(self, features):
        self.accepted = features
        self.memory.logging = self.has(Feature.LOG_ALL)

    def start_queues(self):
        if self.memory.regions:
            for queue in self.queues.values():
                queue.start(self.memory, self.accepted)

    def check_channel(self):
        """VhostError says why there is no channel of back-end requests."""
        if self.channel is not None:
            return
        if not (self.offer.protocol_features or 0) >> ProtocolFeature.BACKEND_REQ & 1:
            why = "put it into Offer.protocol_features"
        elif not self.protocol_accepted >> ProtocolFeature.BACKEND_REQ & 1:
            why = "the front end did not accept it"
        else:
            why = "the front end accepted it and sent no SET_BACKEND_REQ_FD yet"
        raise VhostError(f"a back-end request needs BACKEND_REQ: {why}")

    def announce_config(self):
        """CONFIG_CHANGE on the channel of back-end requests."""
        self.channel.sendall(bytes(Header(BackendRequest.CONFIG_CHANGE, VERSION, 0)))


TAKES_FDS = frozenset({Request.SET_MEM_TABLE, Request.SET_VRING_KICK, Request.SET_VRING_CALL,
                       Request.SET_VRING_ERR, Request.SET_LOG_BASE, Request.SET_LOG_FD,
                       Request.SET_BACKEND_REQ_FD, Request.ADD_MEM_REG, Request.REM_MEM_REG})
