"""Code around every execution, outermost first."""

import contextlib
import logging
import time

log = logging.getLogger(__name__)


class Middleware:
    """Override `around`; call `proceed` to go on, or do not."""

    def around(self, task, message, proceed):
        return proceed()


class MiddlewareChain:
    """Nests middleware so that the first one added sees everything."""

    def __init__(self):
        self._links = []

    def add(self, middleware):
        self._links.append(middleware)

    def around(self, task, message, innermost):
        call = innermost
        for link in reversed(self._links):
            call = _link(link, task, message, call)
        return call()


def _link(link, task, message, proceed):
    return lambda: link.around(task, message, proceed)


class Timing(Middleware):
    """Logs how long each task took."""

    def around(self, task, message, proceed):
        began = time.perf_counter()
        try:
            return proceed()
        finally:
            log.info("%s took %.1f ms", task.name, 1000 * (time.perf_counter() - began))


class Once(Middleware):
    """Skips a message whose id was seen before, which makes deliveries that come twice harmless."""

    def __init__(self, seen):
        self.seen = seen

    def around(self, task, message, proceed):
        if not self.seen.add(message.id):
            log.info("%s was run already", message.id)
            return None
        with contextlib.ExitStack() as stack:
            stack.callback(self.seen.forget, message.id)
            value = proceed()
            stack.pop_all()
            return value
