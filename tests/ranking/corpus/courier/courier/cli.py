"""`courier work | beat | inspect | requeue | purge`."""

import argparse
import importlib
import json
import logging
import sys

from courier.schedule import Beat
from courier.worker import Worker


def load_app(path):
    """The application that `package.module:name` points at."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name or "app")


def build_parser():
    parser = argparse.ArgumentParser(prog="courier")
    parser.add_argument("--app", required=True, help="package.module:name")
    parser.add_argument("--log-level", default="INFO")
    commands = parser.add_subparsers(dest="command", required=True)

    work = commands.add_parser("work", help="run tasks")
    work.add_argument("--queue", action="append", dest="queues")
    work.add_argument("--concurrency", type=int)

    commands.add_parser("beat", help="publish what the schedule says")

    inspect = commands.add_parser("inspect", help="show tasks, or messages that failed for good")
    inspect.add_argument("--dead", action="store_true")

    requeue = commands.add_parser("requeue", help="send dead messages on their way again")
    requeue.add_argument("ids", nargs="+")

    purge = commands.add_parser("purge", help="forget waiting messages")
    purge.add_argument("queue")
    return parser


def main(argv=None):
    arguments = build_parser().parse_args(argv)
    logging.basicConfig(level=arguments.log_level, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    app = load_app(arguments.app)
    app.autodiscover()
    return COMMANDS[arguments.command](app, arguments) or 0


def work(app, arguments):
    if arguments.concurrency:
        app.settings.concurrency = arguments.concurrency
    Worker(app, arguments.queues).run()


def beat(app, arguments):
    Beat(app).run()


def inspect(app, arguments):
    if arguments.dead:
        for message, reason in app.broker.dead:
            print(json.dumps({"id": message.id, "task": message.task, "reason": reason.splitlines()[-1]}))
    else:
        for name, task in sorted(app.tasks.items()):
            print(f"{name}\t{task.queue}\t{task.rate or '-'}")


def requeue(app, arguments):
    wanted = set(arguments.ids)
    for message, _ in [pair for pair in app.broker.dead if pair[0].id in wanted]:
        app.broker.push(message)
        wanted.discard(message.id)
    for id in sorted(wanted):
        print(f"no dead message is called {id}", file=sys.stderr)
    return 1 if wanted else 0


def purge(app, arguments):
    print(app.broker.purge(arguments.queue))


COMMANDS = {"work": work, "beat": beat, "inspect": inspect, "requeue": requeue, "purge": purge}
