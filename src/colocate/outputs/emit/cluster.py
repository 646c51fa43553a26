"""What a user may choose about the files for Kubernetes."""

import re
from dataclasses import dataclass
from enum import StrEnum

from colocate.errors import InputError
from colocate.fault import Fault

LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A name of a namespace, by RFC 1123."""
SUBDOMAIN = re.compile(rf"(?=.{{1,253}}\Z){LABEL.pattern}(\.{LABEL.pattern})*")
"""A name of a claim or a storage class, by RFC 1123."""
QUANTITY = re.compile(r"[1-9][0-9]{0,8}(Mi|Gi|Ti|M|G|T)?")
READ_ONLY = ":ro"
FORMS = (
    "claim:NAME, new-claim, new-claim:SIZE, new-claim:SIZE:STORAGECLASS or host:PATH (claim and "
    "host may end in :ro)"
)


class VolumeKind(StrEnum):
    """Where the weights lie between two starts of a pod."""

    CLAIM = "claim"
    """In a volume whose claim exists."""
    NEW_CLAIM = "new-claim"
    """In a volume that is claimed along with the pods."""
    HOST = "host"
    """In a folder of the machine."""


@dataclass(frozen=True)
class WeightVolume:
    """The volume that keeps what engines download."""

    kind: VolumeKind
    place: str = ""
    """The name of the claim, or the folder of the machine."""
    size: str = ""
    """Of a new claim; empty for what the weights of the plan need."""
    storage_class: str = ""
    """Of a new claim; empty for the default of the cluster."""
    read_only: bool = False


@dataclass(frozen=True)
class KubernetesSettings:
    """Choices of the user for Kubernetes, checked.

    Parameters
    ----------
    namespace
        The namespace of all manifests; None leaves it to kubectl.
    weights
        The volume that keeps the weights; None keeps them only as long as a pod lives.
    """

    namespace: str | None = None
    weights: WeightVolume | None = None

    def __post_init__(self) -> None:
        if self.namespace is not None and not LABEL.fullmatch(self.namespace):
            expected = "lower case letters, digits and hyphens, at most 63"
            raise InputError.of("namespace", self.namespace, expected)


def parse_weights(text: str) -> WeightVolume:
    """Return the volume that an option names, such as `claim:models` or `host:/models`."""
    kind, _, rest = text.partition(":")
    if kind == VolumeKind.CLAIM:
        name = rest.removesuffix(READ_ONLY)
        if SUBDOMAIN.fullmatch(name):
            return WeightVolume(VolumeKind.CLAIM, name, read_only=rest.endswith(READ_ONLY))
    elif kind == VolumeKind.NEW_CLAIM:
        size, _, storage_class = rest.partition(":")
        named = SUBDOMAIN.fullmatch(storage_class) or not storage_class
        if named and (QUANTITY.fullmatch(size) or not size):
            return WeightVolume(VolumeKind.NEW_CLAIM, size=size, storage_class=storage_class)
    elif kind == VolumeKind.HOST:
        path = rest.removesuffix(READ_ONLY)
        if path.startswith("/") and path.isprintable() and ".." not in path.split("/"):
            return WeightVolume(VolumeKind.HOST, path, read_only=rest.endswith(READ_ONLY))
    raise InputError(Fault(value=text, expected=FORMS, path=("weights",)))
