"""A broker inside the process, for tests and small tools."""

import heapq
import itertools
import threading
import time

from courier.broker.base import Broker


class MemoryBroker(Broker):
    """Keeps everything in heaps; loses everything at exit."""

    def __init__(self, url="memory://", visibility_timeout=300, clock=time.monotonic):
        super().__init__(url, visibility_timeout)
        self.clock = clock
        self.dead = []
        self._queues = {}
        self._delayed = []
        self._reserved = {}
        self._order = itertools.count()
        self._lock = threading.RLock()

    def push(self, message, delay=0.0):
        with self._lock:
            if delay > 0:
                heapq.heappush(self._delayed, (self.clock() + delay, next(self._order), message))
            else:
                self._enqueue(message)

    def reserve(self, queues, limit):
        with self._lock:
            self._wake_delayed()
            self._reclaim_expired()
            taken = []
            for queue in queues:
                heap = self._queues.get(queue, [])
                while heap and len(taken) < limit:
                    message = heapq.heappop(heap)[-1]
                    self._reserved[message.id] = (self.clock() + self.visibility_timeout, message)
                    taken.append(message)
            return taken

    def ack(self, message):
        with self._lock:
            self._reserved.pop(message.id, None)

    def release(self, message):
        with self._lock:
            if self._reserved.pop(message.id, None):
                self._enqueue(message)

    def touch(self, ids):
        with self._lock:
            until = self.clock() + self.visibility_timeout
            for id in ids:
                if id in self._reserved:
                    self._reserved[id] = (until, self._reserved[id][1])

    def bury(self, message, reason):
        with self._lock:
            self._reserved.pop(message.id, None)
            self.dead.append((message, reason))

    def purge(self, queue):
        with self._lock:
            return len(self._queues.pop(queue, []))

    def _enqueue(self, message):
        heap = self._queues.setdefault(message.queue, [])
        heapq.heappush(heap, (-message.priority, next(self._order), message))

    def _wake_delayed(self):
        while self._delayed and self._delayed[0][0] <= self.clock():
            self._enqueue(heapq.heappop(self._delayed)[-1])

    def _reclaim_expired(self):
        """Messages whose worker went silent are delivered again."""
        now = self.clock()
        for id, (until, message) in list(self._reserved.items()):
            if until <= now:
                del self._reserved[id]
                self._enqueue(message)
