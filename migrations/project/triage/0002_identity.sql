-- Who a finding is: what its reports claimed about it, and when a report of the same tool and category lacked it.

-- `claims` are hashes, the strongest claim first and that of all facts together last; null for findings of older programs.
-- `scope` is a hash of format, tool and category; `repo` is folded as `service` and `env` are.
ALTER TABLE {schema}.triage_records
    ADD COLUMN IF NOT EXISTS scope text,
    ADD COLUMN IF NOT EXISTS claims text[],
    ADD COLUMN IF NOT EXISTS repo text,
    ADD COLUMN IF NOT EXISTS fixed_ms int8;

CREATE INDEX IF NOT EXISTS triage_records_claims ON {schema}.triage_records USING gin (claims);

CREATE INDEX IF NOT EXISTS triage_records_scope ON {schema}.triage_records (scope) WHERE fixed_ms IS NULL;
