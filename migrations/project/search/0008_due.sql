-- What shaped a repository's rows beside the versions, and what an index run still owes: rows that are made of all files of
-- a repository, and statistics that are counted over the whole project.
ALTER TABLE {schema}.repositories
    ADD COLUMN IF NOT EXISTS settings bytea NOT NULL DEFAULT '',
    ADD COLUMN IF NOT EXISTS derived_due bool NOT NULL DEFAULT false;

ALTER TABLE {schema}.index_state ADD COLUMN IF NOT EXISTS statistics_due bool NOT NULL DEFAULT false;
