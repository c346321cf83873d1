"""What goes wrong between a back end and its driver, each with the place and the value in the message."""


class VhostError(Exception):
    """Base of all errors of this package."""


class ProtocolError(VhostError):
    """The front end sent a message that the vhost-user document does not allow."""


class OutsideMemory(VhostError):
    """An address range that does not lie in one shared memory region."""


class RingError(VhostError):
    """The driver made something available that VIRTIO does not allow."""
