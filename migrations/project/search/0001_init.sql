-- The search module of a project's schema. {schema} is the quoted name, {dimensions} the model's.
-- No sequences, triggers, enums or references out of the schema: a project is one shard group.

CREATE TABLE IF NOT EXISTS {schema}.index_state (
    id int2 PRIMARY KEY CHECK (id = 1),
    next_id int8 NOT NULL,
    fence int8 NOT NULL,
    generation int8 NOT NULL,
    chunks int8 NOT NULL,
    files int8 NOT NULL,
    statistics_chunks int8 NOT NULL,
    changed_since_statistics int8 NOT NULL,
    terms_indexed bool NOT NULL,
    vectors_indexed bool NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE IF NOT EXISTS {schema}.repositories (
    id int8 PRIMARY KEY,
    root text NOT NULL UNIQUE,
    name text NOT NULL,
    state text NOT NULL CHECK (state IN ('new', 'indexing', 'ready', 'failed')),
    generation int8 NOT NULL,
    chunker_version int4 NOT NULL,
    terms_version int4 NOT NULL,
    files int8 NOT NULL,
    chunks int8 NOT NULL,
    indexed_at timestamptz,
    report jsonb
);

-- A skipped file has a row with its reason and no chunks, so that it is neither forgotten nor read again.
CREATE TABLE IF NOT EXISTS {schema}.files (
    id int8 PRIMARY KEY,
    repository_id int8 NOT NULL REFERENCES {schema}.repositories (id),
    path text NOT NULL,
    language text,
    extension text,
    bytes int8 NOT NULL,
    modified_ns int8 NOT NULL,
    content_hash bytea NOT NULL,
    lines int4 NOT NULL,
    chunks int4 NOT NULL,
    skipped text,
    UNIQUE (repository_id, path)
);

CREATE TABLE IF NOT EXISTS {schema}.chunks (
    id int8 PRIMARY KEY,
    file_id int8 NOT NULL REFERENCES {schema}.files (id),
    repository_id int8 NOT NULL,
    ordinal int4 NOT NULL,
    start_line int4 NOT NULL,
    end_line int4 NOT NULL,
    kind text NOT NULL,
    name text,
    defines text[] NOT NULL,
    signature text,
    content text NOT NULL,
    content_hash bytea NOT NULL
);

-- With the hash inside, a filtered vector search reads this index and leaves the texts alone.
CREATE INDEX IF NOT EXISTS chunks_file ON {schema}.chunks (file_id) INCLUDE (content_hash, id);

CREATE INDEX IF NOT EXISTS chunks_content ON {schema}.chunks (content_hash) INCLUDE (file_id, id);

-- BM25 weights by term hash, and the terms again as an array for GIN. Rows stay inline: a
-- search reads every candidate.
CREATE TABLE IF NOT EXISTS {schema}.lexical (
    chunk_id int8 PRIMARY KEY,
    file_id int8 NOT NULL,
    terms int4[] NOT NULL,
    weights sparsevec(1000000000) NOT NULL
) WITH (toast_tuple_target = 8160);

CREATE INDEX IF NOT EXISTS lexical_file ON {schema}.lexical (file_id);

-- Document frequencies, rebuilt after a run.
CREATE TABLE IF NOT EXISTS {schema}.terms (
    term int4 PRIMARY KEY,
    chunks int4 NOT NULL
);

-- Content-addressed: blake3 of a chunk's text to its unit vector.
CREATE TABLE IF NOT EXISTS {schema}.vectors (
    hash bytea PRIMARY KEY,
    embedding halfvec({dimensions}) STORAGE PLAIN NOT NULL
);

INSERT INTO {schema}.index_state
    (id, next_id, fence, generation, chunks, files, statistics_chunks,
     changed_since_statistics, terms_indexed, vectors_indexed, updated_at)
VALUES (1, 1, 0, 0, 0, 0, 0, 0, false, false, now())
ON CONFLICT (id) DO NOTHING;
