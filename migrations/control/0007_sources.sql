-- The setting `sources`: when each was synced, and which repositories it has. A statement ends with a semicolon at the end of a line.

-- A row for each source that was synced once. While `claimed_until` is not over, a process syncs it. `synced_at` is the end of the
-- last sync that succeeded, `tried_at` that of the last one; if `retry_at` is set, the source is due then and not at its usual time.
CREATE TABLE pairofcleats.sources (
    name text PRIMARY KEY,
    synced_at timestamptz,
    tried_at timestamptz,
    retry_at timestamptz,
    claimed_by text,
    claimed_until timestamptz,
    note text
);

-- A row for each repository that a source lists, or had listed before it was gone. `added` says that the source brought it into the
-- project, so that it may take it away. `pushed_at` is the last push that an index run is known to contain.
CREATE TABLE pairofcleats.source_repositories (
    source text NOT NULL,
    address text NOT NULL,
    project_id text NOT NULL,
    added bool NOT NULL,
    indexed_at timestamptz,
    pushed_at timestamptz,
    gone_since timestamptz,
    PRIMARY KEY (source, address, project_id)
);
