"""Brokers, chosen by the scheme of a URL."""

from urllib.parse import urlsplit

from courier.broker.base import Broker
from courier.broker.memory import MemoryBroker
from courier.broker.redis import RedisBroker

SCHEMES = {"memory": MemoryBroker, "redis": RedisBroker, "rediss": RedisBroker}


def broker_from_url(url, visibility_timeout=300):
    """The broker that the scheme of `url` names."""
    scheme = urlsplit(url).scheme
    try:
        kind = SCHEMES[scheme]
    except KeyError:
        raise ValueError(f"no broker for {scheme!r}; there are {', '.join(sorted(SCHEMES))}") from None
    return kind(url, visibility_timeout)


__all__ = ["Broker", "MemoryBroker", "RedisBroker", "broker_from_url"]
