-- What is known of each chunk besides its text, and of each file besides its bytes.

ALTER TABLE {schema}.repositories
    ADD COLUMN IF NOT EXISTS facts_version int4 NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS rules bytea NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS branch text,
    ADD COLUMN IF NOT EXISTS commit_id text;

-- History is null where it is not known; imports are ids of names.
ALTER TABLE {schema}.files
    ADD COLUMN IF NOT EXISTS mode text NOT NULL DEFAULT 'code',
    ADD COLUMN IF NOT EXISTS imports int8[] NOT NULL DEFAULT '{}',
    ADD COLUMN IF NOT EXISTS meta text[],
    ADD COLUMN IF NOT EXISTS last_author text,
    ADD COLUMN IF NOT EXISTS last_modified_s int8,
    ADD COLUMN IF NOT EXISTS last_commit text,
    ADD COLUMN IF NOT EXISTS churn_added int4,
    ADD COLUMN IF NOT EXISTS churn_deleted int4,
    ADD COLUMN IF NOT EXISTS churn_commits int4,
    ADD COLUMN IF NOT EXISTS lines_attributed_to text,
    ADD COLUMN IF NOT EXISTS risk_ends text;

CREATE INDEX IF NOT EXISTS files_records ON {schema}.files (id) WHERE mode = 'records';

-- What is shown of a chunk and never filtered by, as JSON.
ALTER TABLE {schema}.chunks ADD COLUMN IF NOT EXISTS detail text;

-- A narrow row a chunk: filters read it and leave the texts alone.
CREATE TABLE IF NOT EXISTS {schema}.facts (
    chunk_id int8 PRIMARY KEY,
    file_id int8 NOT NULL,
    branches int2,
    loops int2,
    breaks int2,
    continues int2,
    content_hash bytea NOT NULL,
    signature text,
    ids int8[] NOT NULL
);

CREATE INDEX IF NOT EXISTS facts_file ON {schema}.facts (file_id);

-- Field and value behind an id of facts, which is their hash.
CREATE TABLE IF NOT EXISTS {schema}.names (
    id int8 PRIMARY KEY,
    field int2 NOT NULL,
    name text NOT NULL,
    folded text NOT NULL
);

-- The comments of a chunk as a text of their own.
CREATE TABLE IF NOT EXISTS {schema}.comments (
    chunk_id int8 PRIMARY KEY,
    file_id int8 NOT NULL,
    start_line int4 NOT NULL,
    end_line int4 NOT NULL,
    content text NOT NULL,
    terms int4[] NOT NULL,
    weights sparsevec(1000000000) NOT NULL
);

CREATE INDEX IF NOT EXISTS comments_file ON {schema}.comments (file_id);

-- Who wrote a chunk's lines.
CREATE TABLE IF NOT EXISTS {schema}.authors (
    chunk_id int8 PRIMARY KEY,
    file_id int8 NOT NULL,
    ids int8[] NOT NULL
);

CREATE INDEX IF NOT EXISTS authors_file ON {schema}.authors (file_id);

-- Untrusted input that reaches a chunk from another one.
CREATE TABLE IF NOT EXISTS {schema}.flows (
    chunk_id int8 PRIMARY KEY,
    file_id int8 NOT NULL,
    ids int8[] NOT NULL,
    detail text NOT NULL
);

CREATE INDEX IF NOT EXISTS flows_file ON {schema}.flows (file_id);

-- Chunks of before are filtered by what is known of their files until a run reads their facts.
INSERT INTO {schema}.facts (chunk_id, file_id, content_hash, signature, ids)
SELECT id, file_id, content_hash, signature, '{}' FROM {schema}.chunks ON CONFLICT (chunk_id) DO NOTHING;

-- The new tables have no GIN indexes yet.
UPDATE {schema}.index_state SET terms_indexed = false WHERE id = 1;
