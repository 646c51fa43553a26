"""The values of options of `colocate simulate`, as their help lists them."""

from enum import StrEnum


class RequestTimes(StrEnum):
    """When requests come."""

    POISSON = "poisson"
    BURSTS = "bursts"
    DAY = "day"


class LengthShape(StrEnum):
    """How lengths differ from their means."""

    FIXED = "fixed"
    EXPONENTIAL = "exponential"
    LOG_NORMAL = "log-normal"


class PrefillOrder(StrEnum):
    """How prompts are read."""

    FIRST = "first"
    CHUNKED = "chunked"


class CacheKind(StrEnum):
    """Whose a cache is."""

    BLOCKS = "blocks"
    ELASTIC = "elastic"


class ReplicaRouter(StrEnum):
    """How a replica is chosen."""

    ROUND_ROBIN = "round-robin"
    LEAST_REQUESTS = "least-requests"
    RANDOM_TWO = "random-two"
