"""A vhost-user back end for virtio-net in pure Python, with scapy on top."""

from .backend import Backend, Offer
from .capture import Capture
from .datapath import Completion, Frame
from .errors import OutsideMemory, ProtocolError, RingError, VhostError
from .features import Feature, ProtocolFeature, mask, names
from .knobs import Fault
from .message import Request
from .net_header import HashReport, NetConfig, NetHeader
from .port import VhostPort

__all__ = ["Backend", "Capture", "Completion", "Fault", "Feature", "Frame", "HashReport", "NetConfig", "NetHeader",
           "Offer", "OutsideMemory", "ProtocolError", "ProtocolFeature", "Request", "RingError", "VhostError",
           "VhostPort", "mask", "names"]
