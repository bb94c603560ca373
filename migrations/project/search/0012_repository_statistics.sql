-- Document frequencies of each repository, so that its neighbours do not change its ranking.

-- Rows of repository 0 are those of an earlier version: they count the whole project, of which `statistics_chunks` in
-- `index_state` is the number of chunks. They stand in for a repository until its own terms are counted.
ALTER TABLE {schema}.terms ADD COLUMN IF NOT EXISTS repository_id int8 NOT NULL DEFAULT 0;

ALTER TABLE {schema}.terms ALTER COLUMN repository_id DROP DEFAULT;

ALTER TABLE {schema}.terms DROP CONSTRAINT IF EXISTS terms_pkey;

ALTER TABLE {schema}.terms ADD PRIMARY KEY (repository_id, term);

-- Chunks whose terms were counted (0: not yet), and chunks added or removed since then.
ALTER TABLE {schema}.repositories
    ADD COLUMN IF NOT EXISTS statistics_chunks int8 NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS changed_since_statistics int8 NOT NULL DEFAULT 0;

-- The next run counts the terms of every repository.
UPDATE {schema}.index_state SET statistics_due = true WHERE id = 1 AND chunks > 0;
