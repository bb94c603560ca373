"""What a broker must be able to do."""

from abc import ABC, abstractmethod


class Broker(ABC):
    """Carries messages from those who publish to those who work.

    A reserved message is invisible to others until it is acknowledged, released, buried, or until its
    visibility timeout has passed without a `touch`.
    """

    def __init__(self, url, visibility_timeout=300):
        self.url = url
        self.visibility_timeout = visibility_timeout

    @abstractmethod
    def push(self, message, delay=0.0):
        """Puts a message on its queue, visible after `delay` seconds."""

    @abstractmethod
    def reserve(self, queues, limit):
        """Up to `limit` messages, the highest priority first, oldest first among equals."""

    @abstractmethod
    def ack(self, message):
        """The message is done with."""

    @abstractmethod
    def release(self, message):
        """Gives a reserved message back at once."""

    @abstractmethod
    def touch(self, ids):
        """Starts the visibility timeout of reserved messages anew."""

    @abstractmethod
    def bury(self, message, reason):
        """Moves a message to the dead letter queue."""

    @abstractmethod
    def purge(self, queue):
        """Forgets all waiting messages of a queue; how many there were."""

    def close(self):
        """Ends connections, if there are any."""
