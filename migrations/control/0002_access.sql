-- Who may call, who called, and the sessions of MCP clients. A statement ends with a semicolon at the end of a line.

-- `hash` is the SHA-256 of the whole key, which is 256 random bits: nothing slower is needed. A NULL `projects` allows all.
CREATE TABLE pairofcleats.api_keys (
    id text PRIMARY KEY,
    name text NOT NULL,
    hash bytea NOT NULL,
    projects text[],
    scopes text[] NOT NULL,
    calls_per_minute int4,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz
);

-- Append-only. `query` is NULL unless the operator wants it kept.
CREATE TABLE pairofcleats.audit (
    id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL,
    principal text NOT NULL,
    name text NOT NULL,
    surface text NOT NULL,
    tool text NOT NULL,
    project_id text,
    outcome text NOT NULL,
    duration_ms float8 NOT NULL,
    request_id text,
    query text
);

CREATE INDEX audit_by_time ON pairofcleats.audit (at);

-- What an MCP client said when it opened its session, so that the session survives a restart of the server.
CREATE TABLE pairofcleats.mcp_sessions (
    id text PRIMARY KEY,
    principal text NOT NULL,
    state jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    used_at timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX mcp_sessions_by_principal ON pairofcleats.mcp_sessions (principal, used_at);
