-- Trigrams of each chunk's text, hashed to 16 bits: the index of exact and regular-expression search. A table of its own, because
-- the rows of `lexical` are read for ranking and have to stay small.

CREATE TABLE IF NOT EXISTS {schema}.grams (
    chunk_id int8 PRIMARY KEY,
    file_id int8 NOT NULL,
    grams int2[] NOT NULL
);

CREATE INDEX IF NOT EXISTS grams_file ON {schema}.grams (file_id);

-- False for files that an earlier version wrote: their chunks have no trigrams, so every pattern has to read them.
ALTER TABLE {schema}.files ADD COLUMN IF NOT EXISTS grams_written bool NOT NULL DEFAULT false;

CREATE INDEX IF NOT EXISTS files_without_grams ON {schema}.files (id) WHERE NOT grams_written AND chunks > 0;

-- Exact search counts what is not indexed.
CREATE INDEX IF NOT EXISTS files_skipped ON {schema}.files (repository_id) WHERE skipped IS NOT NULL;
