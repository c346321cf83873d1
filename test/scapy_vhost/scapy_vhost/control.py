"""The control queue: commands are logged in full and answered with what the knobs say."""

from dataclasses import dataclass

from .errors import VhostError

ACK_OK, ACK_ERROR = 0, 1


@dataclass(frozen=True)
class Command:
    """VIRTIO 1.3, 5.1.6.5: class and command, then the data of that command."""

    group: int
    command: int
    data: bytes


class ControlQueue:
    def __init__(self, device, knobs, log):
        self.device, self.knobs, self.log = device, knobs, log
        self.commands = []

    def serve(self):
        queue = self.device.queues.get(self.device.control_index)
        if queue is None or not queue.ready or not self.device.driver_ok:
            return
        try:
            with queue.watched():
                self.take_commands(queue)
        except VhostError:
            return  # in the log; the queue is not looked at again

    def take_commands(self, queue):
        while (chain := queue.ring.take()) is not None:
            data = chain.read()
            if len(data) < 2 or chain.writable() < 1:
                self.log.add("fault", f"queue {queue.index}: a command of {len(data)} readable and "
                                      f"{chain.writable()} writable bytes")
                queue.ring.complete(chain, 0)
                queue.notify()
                continue
            self.commands.append(Command(data[0], data[1], data[2:]))
            self.log.add("command", f"class {data[0]} command {data[1]} {data[2:].hex(' ')}",
                         self.commands[-1])
            chain.write(bytes([self.knobs.control_ack]))
            queue.ring.complete(chain, 1)
            queue.notify()
