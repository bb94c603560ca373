-- The control schema: one a database, plain tables. A statement ends with a semicolon at the end of a line.

CREATE SCHEMA IF NOT EXISTS pairofcleats;

CREATE TABLE pairofcleats.migrations (
    module text NOT NULL,
    version int4 NOT NULL,
    applied_at timestamptz NOT NULL,
    PRIMARY KEY (module, version)
);

-- A row exists only for a workspace that is complete: it is written by the transaction that makes the schema.
CREATE TABLE pairofcleats.projects (
    id text PRIMARY KEY CHECK (id ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND octet_length(id) <= 50),
    schema_name text NOT NULL UNIQUE,
    state text NOT NULL CHECK (state IN ('provisioning', 'ready', 'deleting')),
    search_version int4 NOT NULL,
    role_name text,
    model_id text NOT NULL,
    model_variant text NOT NULL,
    model_hash bytea NOT NULL,
    dimensions int4 NOT NULL,
    settings jsonb NOT NULL DEFAULT '{}',
    placement text,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE pairofcleats.jobs (
    id text PRIMARY KEY,
    project_id text NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
    request jsonb NOT NULL,
    progress jsonb,
    result jsonb,
    error jsonb,
    attempt int4 NOT NULL DEFAULT 0,
    fence int8,
    worker text,
    lease_until timestamptz,
    heartbeat_at timestamptz,
    cancel_requested bool NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz
);

-- At most one live job about a thing: a second request attaches to it.
CREATE UNIQUE INDEX jobs_live ON pairofcleats.jobs (project_id, kind, subject) WHERE state IN ('queued', 'running');

CREATE INDEX jobs_by_project ON pairofcleats.jobs (project_id, created_at);

-- Fence tokens: a later claim always has a larger one.
CREATE SEQUENCE pairofcleats.fences AS int8;
