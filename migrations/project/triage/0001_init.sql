-- The triage module of a project's schema: findings, and decisions about them. {schema} is the quoted name.
-- A statement ends with a semicolon at the end of a line.

-- `record` is the record as JSON without what the other columns say; the texts that searches find are made of it.
-- `vuln`, `package`, `service` and `env` are folded; they relate decisions to findings.
CREATE TABLE IF NOT EXISTS {schema}.triage_records (
    id text PRIMARY KEY,
    record_type text NOT NULL CHECK (record_type IN ('finding', 'decision')),
    finding_id text,
    status text,
    expires_ms int8,
    vuln text,
    package text,
    service text,
    env text,
    content_hash bytea NOT NULL,
    created_ms int8 NOT NULL,
    updated_ms int8 NOT NULL,
    record text NOT NULL
);

CREATE INDEX IF NOT EXISTS triage_records_finding ON {schema}.triage_records (finding_id, created_ms) WHERE record_type = 'decision';

CREATE INDEX IF NOT EXISTS triage_records_vuln ON {schema}.triage_records (vuln) WHERE record_type = 'decision';

CREATE INDEX IF NOT EXISTS triage_records_package ON {schema}.triage_records (package) WHERE record_type = 'decision';
