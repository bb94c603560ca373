-- Which word lists split the names of a repository; empty where none did.

ALTER TABLE {schema}.repositories ADD COLUMN IF NOT EXISTS dictionary bytea NOT NULL DEFAULT '';
