-- The launch runs of a project. {schema} is the quoted name.
-- A statement ends with a semicolon at the end of a line.

-- What a run is follows from its events; all but `config` and `idempotency_key` is a copy of that. `fence` is the token of the job
-- that advances the run, `seq` and `head_hash` are number and hash of its last event. `pending`, `fixing` and `failure` are JSON.
CREATE TABLE IF NOT EXISTS {schema}.launch_runs (
    run_id text PRIMARY KEY,
    idempotency_key text,
    config text NOT NULL,
    config_hash bytea NOT NULL,
    product_slug text NOT NULL,
    state text NOT NULL,
    repository_id int8 NOT NULL,
    repo_sha text NOT NULL,
    site_profile text NOT NULL,
    site_sha text NOT NULL,
    site_tree text,
    fence int8 NOT NULL,
    seq int4 NOT NULL,
    head_hash bytea NOT NULL,
    fix_attempts int2 NOT NULL,
    report_ok bool,
    pending text,
    fixing text,
    publish_key text,
    branch text,
    commit_sha text,
    pr_url text,
    pr_number int8,
    failure text,
    cancel_requested bool NOT NULL,
    created_ms int8 NOT NULL,
    finished_ms int8,
    updated_ms int8 NOT NULL
);

-- Two runs cannot have the same key; runs without a key are not compared.
CREATE UNIQUE INDEX IF NOT EXISTS launch_runs_key ON {schema}.launch_runs (idempotency_key);

CREATE INDEX IF NOT EXISTS launch_runs_newest ON {schema}.launch_runs (created_ms, run_id);

-- Only appended to. Each event contains the hash of the one before.
CREATE TABLE IF NOT EXISTS {schema}.launch_events (
    run_id text NOT NULL,
    seq int4 NOT NULL,
    event_id text NOT NULL,
    ts_ms int8 NOT NULL,
    type text NOT NULL,
    payload text NOT NULL,
    trace_id text NOT NULL,
    span_id text NOT NULL,
    parent_span_id text,
    prev_hash bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (run_id, seq)
);

-- A row for each attempt. `outputs` and `error` are JSON; `inputs_hash` is empty until a worker begins.
CREATE TABLE IF NOT EXISTS {schema}.launch_items (
    run_id text NOT NULL,
    worker text NOT NULL,
    scope_key text NOT NULL,
    attempt int2 NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'finished', 'failed')),
    inputs_hash bytea NOT NULL,
    outputs text NOT NULL,
    error text,
    started_ms int8,
    finished_ms int8,
    PRIMARY KEY (run_id, worker, scope_key, attempt)
);

-- All versions of what the workers wrote.
CREATE TABLE IF NOT EXISTS {schema}.launch_artifacts (
    run_id text NOT NULL,
    name text NOT NULL,
    version int4 NOT NULL,
    sha256 bytea NOT NULL,
    content_type text NOT NULL,
    schema_id text,
    writer text NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (run_id, name, version)
);

-- Every issue that a validation ever found; `opened_seq` and `closed_seq` are the events that opened and resolved it last.
CREATE TABLE IF NOT EXISTS {schema}.launch_issues (
    run_id text NOT NULL,
    issue_id text NOT NULL,
    gate text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('blocker', 'error', 'warning', 'info')),
    code text NOT NULL,
    title text NOT NULL,
    message text NOT NULL,
    path text,
    line int4,
    status text NOT NULL CHECK (status IN ('open', 'resolved', 'ignored')),
    fixable bool NOT NULL,
    opened_seq int4 NOT NULL,
    closed_seq int4,
    PRIMARY KEY (run_id, issue_id)
);
