-- The instruction catalog of a project. {schema} is the quoted name.
-- A statement ends with a semicolon at the end of a line.

-- `folded` is title and body in lower case, folded by the program: lower() depends on the cluster's collation.
CREATE TABLE IF NOT EXISTS {schema}.instructions (
    id text PRIMARY KEY,
    revision int8 NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    rationale text,
    priority int2 NOT NULL,
    audience text NOT NULL CHECK (audience IN ('individual', 'group', 'all')),
    requirement text NOT NULL CHECK (requirement IN ('mandatory', 'critical', 'recommended', 'optional', 'deprecated')),
    categories text[] NOT NULL,
    deprecated_by text,
    source_hash bytea NOT NULL,
    meta_hash bytea NOT NULL,
    schema_version text NOT NULL,
    created_ms int8 NOT NULL,
    updated_ms int8 NOT NULL,
    updated_by text NOT NULL,
    folded text NOT NULL
);

CREATE INDEX IF NOT EXISTS instructions_requirement ON {schema}.instructions (requirement);

-- One row. Updating it is the lock of all writers; its hashes are those of the transaction that wrote last.
CREATE TABLE IF NOT EXISTS {schema}.instruction_state (
    id int2 PRIMARY KEY CHECK (id = 1),
    revision int8 NOT NULL,
    entries int4 NOT NULL,
    hash bytea NOT NULL,
    meta_hash bytea NOT NULL,
    updated_ms int8 NOT NULL
);

-- The hash of an empty catalog is that of the empty text.
INSERT INTO {schema}.instruction_state (id, revision, entries, hash, meta_hash, updated_ms)
    VALUES (1, 0, 0, '\xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
        '\xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0)
    ON CONFLICT (id) DO NOTHING;

-- Kept when an entry is removed, so that it counts on if the entry returns.
CREATE TABLE IF NOT EXISTS {schema}.instruction_usage (
    id text PRIMARY KEY,
    usage_count int8 NOT NULL,
    first_used_ms int8 NOT NULL,
    last_used_ms int8 NOT NULL
);

CREATE TABLE IF NOT EXISTS {schema}.instruction_documents (
    name text PRIMARY KEY CHECK (name IN ('gates', 'criteria')),
    content text NOT NULL,
    hash bytea NOT NULL,
    revision int8 NOT NULL,
    updated_ms int8 NOT NULL
);

-- What each revision changed; the oldest rows are removed.
CREATE TABLE IF NOT EXISTS {schema}.instruction_changes (
    revision int8 PRIMARY KEY,
    at_ms int8 NOT NULL,
    principal text NOT NULL,
    action text NOT NULL,
    added text[] NOT NULL,
    updated text[] NOT NULL,
    removed text[] NOT NULL,
    hash bytea NOT NULL
);
