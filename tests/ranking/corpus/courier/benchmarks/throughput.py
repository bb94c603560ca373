"""How many empty tasks a worker runs in a second, for each broker."""

import argparse
import threading
import time

from courier import Courier, Worker


def measure(broker, count):
    app = Courier("bench", broker=broker, prefetch=64, concurrency=4)
    done = threading.Semaphore(0)

    @app.task(name="nothing")
    def nothing():
        done.release()

    began = time.perf_counter()
    for _ in range(count):
        nothing.later()
    published = time.perf_counter()
    worker = Worker(app)
    thread = threading.Thread(target=worker.run)
    thread.start()
    for _ in range(count):
        done.acquire()
    finished = time.perf_counter()
    worker.stop()
    thread.join()
    return count / (published - began), count / (finished - published)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("brokers", nargs="*", default=["memory://"])
    arguments = parser.parse_args()
    for broker in arguments.brokers:
        publish, run = measure(broker, arguments.count)
        print(f"{broker}: {publish:.0f} published/s, {run:.0f} run/s")


if __name__ == "__main__":
    main()
