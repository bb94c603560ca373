-- Why a file's facts could not be read although it is searchable; null where they were read or there are none.
ALTER TABLE {schema}.files
    ADD COLUMN IF NOT EXISTS facts_missing text;

CREATE INDEX IF NOT EXISTS files_facts_missing ON {schema}.files (repository_id, facts_missing, path)
    WHERE facts_missing IS NOT NULL;
