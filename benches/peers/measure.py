"""Clocks, memory and the JSON of a measurement."""

import argparse
import json
import os
import platform
import resource
import sys
import time
from importlib.metadata import version
from pathlib import Path

WARM_UP = 10


def arguments(about):
    """The options that all peers share; a peer adds its own."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder to index")
    parser.add_argument("--out", help="JSON file to write; standard output without it")
    parser.add_argument("--cache", required=True, help="folder for the models, made once")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--queries", help="JSON list of questions (strings or {query}); else from the files' words")
    parser.add_argument("--count", type=int, default=200, help="how many questions at most")
    return parser


def bound(threads):
    """Limits every thread pool and disables hubs. Call it before importing a library that reads these variables."""
    for name in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"]:
        os.environ[name] = str(threads)
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="true" if threads > 1 else "false")


def latency(questions, ask):
    """Asks every question once, after the first ten as a warm-up; returns p50, p95 and p99 in milliseconds."""
    for question in questions[:WARM_UP]:
        ask(question)
    times = []
    for question in questions:
        started = time.perf_counter()
        ask(question)
        times.append((time.perf_counter() - started) * 1000)
    times.sort()
    at = lambda share: round(times[min(len(times) - 1, int(len(times) * share))], 3)
    return {"query_p50_ms": at(0.50), "query_p95_ms": at(0.95), "query_p99_ms": at(0.99), "queries": len(times)}


def peak_megabytes():
    """Peak resident memory of this process in MB, without its children."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)


def environment(*packages):
    """The machine and the versions that produced the figures."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "packages": {package: version(package) for package in packages},
    }


def write(result, out):
    """Writes the result to the file `out`, or prints it."""
    text = json.dumps(result, indent=2) + "\n"
    if out:
        with open(out, "w", encoding="utf-8") as file:
            file.write(text)
    else:
        sys.stdout.write(text)


def merge(folder, parts, out):
    """Writes one file of the results in the folder `parts`: {folder, measured, peers: {name: result}}."""
    results = {part.stem: json.loads(part.read_text()) for part in sorted(Path(parts).glob("*.json"))}
    measured = time.strftime("%Y-%m-%d", time.gmtime())
    write({"folder": Path(folder).resolve().name, "measured": measured, "peers": results}, out)


if __name__ == "__main__":
    merge(*sys.argv[1:])
