"""A broker over Redis: a sorted set a queue, a hash for bodies, a sorted set for what is reserved."""

import json
import time

import redis

from courier.broker.base import Broker
from courier.task import Message

RESERVE = """
local ids = redis.call('ZPOPMIN', KEYS[1], ARGV[1])
for i = 1, #ids, 2 do redis.call('ZADD', KEYS[2], ARGV[2], ids[i]) end
return ids
"""

PRIORITY_SPREAD = 10_000_000_000


class RedisBroker(Broker):
    """Messages survive a restart of everything but Redis itself."""

    def __init__(self, url, visibility_timeout=300, prefix="courier"):
        super().__init__(url, visibility_timeout)
        self.prefix = prefix
        self.client = redis.Redis.from_url(url)
        self._reserve = self.client.register_script(RESERVE)

    def _key(self, *parts):
        return ":".join((self.prefix, *parts))

    def push(self, message, delay=0.0):
        record = json.dumps({**vars(message), "body": message.body.decode("latin-1")})
        pipe = self.client.pipeline()
        pipe.hset(self._key("messages"), message.id, record)
        if delay > 0:
            pipe.zadd(self._key("delayed"), {message.id: time.time() + delay})
        else:
            pipe.zadd(self._key("queue", message.queue), {message.id: self._score(message)})
        pipe.execute()

    def reserve(self, queues, limit):
        self._wake_delayed()
        self._reclaim_expired()
        taken = []
        for queue in queues:
            if len(taken) >= limit:
                break
            keys = [self._key("queue", queue), self._key("reserved")]
            ids = self._reserve(keys=keys, args=[limit - len(taken), time.time() + self.visibility_timeout])
            taken.extend(self._load(ids[::2]))
        return taken

    def ack(self, message):
        pipe = self.client.pipeline()
        pipe.zrem(self._key("reserved"), message.id)
        pipe.hdel(self._key("messages"), message.id)
        pipe.execute()

    def release(self, message):
        if self.client.zrem(self._key("reserved"), message.id):
            self.client.zadd(self._key("queue", message.queue), {message.id: self._score(message)})

    def touch(self, ids):
        until = time.time() + self.visibility_timeout
        if ids:
            self.client.zadd(self._key("reserved"), {id: until for id in ids}, xx=True)

    def bury(self, message, reason):
        self.client.zrem(self._key("reserved"), message.id)
        self.client.lpush(self._key("dead"), json.dumps({"id": message.id, "reason": reason}))

    def purge(self, queue):
        return self.client.zremrangebyrank(self._key("queue", queue), 0, -1)

    def _reclaim_expired(self):
        """One worker at a time looks for reserved messages whose visibility timeout has passed."""
        lock = self.client.lock(self._key("reclaim"), timeout=10, blocking=False)
        if not lock.acquire():
            return
        try:
            late = self.client.zrangebyscore(self._key("reserved"), 0, time.time())
            for message in self._load(late):
                self.release(message)
        finally:
            lock.release()

    def _wake_delayed(self):
        due = self.client.zrangebyscore(self._key("delayed"), 0, time.time())
        for message in self._load(due):
            if self.client.zrem(self._key("delayed"), message.id):
                self.client.zadd(self._key("queue", message.queue), {message.id: self._score(message)})

    def _load(self, ids):
        records = self.client.hmget(self._key("messages"), ids) if ids else []
        for record in filter(None, records):
            fields = json.loads(record)
            yield Message(**{**fields, "body": fields["body"].encode("latin-1")})

    @staticmethod
    def _score(message):
        return message.published_at - message.priority * PRIORITY_SPREAD
