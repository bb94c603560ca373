-- Other branches, tags and commits of a repository beside the default branch.

-- The hidden repository of another one has the files that only its revisions have; it is searched where a query names a
-- revision, and listed nowhere.
ALTER TABLE {schema}.repositories
    ADD COLUMN IF NOT EXISTS revisions_of int8,
    ADD COLUMN IF NOT EXISTS revision_patterns text[] NOT NULL DEFAULT '{}';

-- In a hidden repository a path may have several versions, one for each content. `views` has a bit for each revision that has
-- the file with this content.
ALTER TABLE {schema}.files
    ADD COLUMN IF NOT EXISTS version int8 NOT NULL DEFAULT 0,
    ADD COLUMN IF NOT EXISTS views int8 NOT NULL DEFAULT 0;

CREATE UNIQUE INDEX IF NOT EXISTS files_versions ON {schema}.files (repository_id, path, version);

ALTER TABLE {schema}.files DROP CONSTRAINT IF EXISTS files_repository_id_path_key;

-- The indexed revisions of a repository; `bit` is their place in `views`.
CREATE TABLE IF NOT EXISTS {schema}.revisions (
    repository_id int8 NOT NULL,
    bit int2 NOT NULL CHECK (bit BETWEEN 0 AND 62),
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('branch', 'tag')),
    commit_id text NOT NULL,
    PRIMARY KEY (repository_id, bit),
    UNIQUE (repository_id, name)
);
