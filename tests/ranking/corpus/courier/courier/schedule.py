"""Tasks by the clock: cron expressions, fixed intervals, and the process that publishes what is due."""

import heapq
import logging
import time
from datetime import datetime, timedelta, timezone

log = logging.getLogger(__name__)

RANGES = {"minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 6)}


def parse_field(text, low, high):
    """The numbers that one field of a cron expression admits: `*`, `*/5`, `1-4`, `1,3`, `8-18/2`."""
    admitted = set()
    for part in text.split(","):
        part, _, step = part.partition("/")
        if part == "*":
            first, last = low, high
        elif "-" in part:
            first, last = (int(number) for number in part.split("-", 1))
        else:
            first = last = int(part)
        if not low <= first <= last <= high:
            raise ValueError(f"{text!r} is outside {low}-{high}")
        admitted.update(range(first, last + 1, int(step or 1)))
    return admitted


class Crontab:
    """Five fields, read in UTC."""

    def __init__(self, expression):
        fields = expression.split()
        if len(fields) != 5:
            raise ValueError(f"{expression!r} does not have five fields")
        self.expression = expression
        self.fields = {
            name: parse_field(text, *RANGES[name]) for name, text in zip(RANGES, fields)
        }

    def matches(self, moment):
        return (
            moment.minute in self.fields["minute"]
            and moment.hour in self.fields["hour"]
            and moment.day in self.fields["day"]
            and moment.month in self.fields["month"]
            and moment.isoweekday() % 7 in self.fields["weekday"]
        )

    def next_after(self, moment):
        """The first matching minute after `moment`."""
        candidate = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        for _ in range(366 * 24 * 60):
            if self.matches(candidate):
                return candidate
            candidate += timedelta(minutes=1)
        raise ValueError(f"{self.expression!r} never fires")


class Every:
    """A fixed interval."""

    def __init__(self, seconds):
        self.interval = timedelta(seconds=seconds)

    def next_after(self, moment):
        return moment + self.interval


class Beat:
    """Publishes a message whenever an entry is due. Run one of these, not two."""

    def __init__(self, app, now=lambda: datetime.now(timezone.utc), sleep=time.sleep):
        self.app = app
        self.now = now
        self.sleep = sleep
        self._heap = []

    def add(self, schedule, task, *args, **kwargs):
        entry = (schedule.next_after(self.now()), len(self._heap), schedule, task, args, kwargs)
        heapq.heappush(self._heap, entry)

    def tick(self):
        """Publishes what is due and gives the seconds until the next entry."""
        now = self.now()
        while self._heap and self._heap[0][0] <= now:
            due, order, schedule, task, args, kwargs = heapq.heappop(self._heap)
            task.later(*args, **kwargs)
            log.info("%s was due at %s", task.name, due)
            heapq.heappush(self._heap, (schedule.next_after(max(due, now)), order, schedule, task, args, kwargs))
        if not self._heap:
            return 60.0
        return max(0.0, (self._heap[0][0] - now).total_seconds())

    def run(self):
        while True:
            self.sleep(min(self.tick(), 60.0))
