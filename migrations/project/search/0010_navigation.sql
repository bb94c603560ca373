-- What files say of names, and which definition uses which.

-- A symbol is a hash of repository, path, qualified name and position among equals; the other id is that of the folded simple
-- name. Both are null for what is not a name of code, and until a run reads the file again.
ALTER TABLE {schema}.definitions
    ADD COLUMN IF NOT EXISTS symbol int8,
    ADD COLUMN IF NOT EXISTS name_id int8;

CREATE INDEX IF NOT EXISTS definitions_symbol ON {schema}.definitions (symbol) WHERE symbol IS NOT NULL;

CREATE INDEX IF NOT EXISTS definitions_name ON {schema}.definitions (name_id) WHERE name_id IS NOT NULL;

-- The version of the resolver that all uses of a repository were resolved with; 0 before the first time.
ALTER TABLE {schema}.repositories ADD COLUMN IF NOT EXISTS navigation_version int4 NOT NULL DEFAULT 0;

-- The symbols of a file, in two halves; null where they are larger than a run may store.
CREATE TABLE IF NOT EXISTS {schema}.symbols (
    file_id int8 PRIMARY KEY,
    repository_id int8 NOT NULL,
    language text NOT NULL,
    interface bytea,
    body bytea,
    offers int8[] NOT NULL,
    mentions int4[] NOT NULL,
    truncated bool NOT NULL,
    resolved bool NOT NULL,
    scip_uses int4 NOT NULL,
    resolved_uses int4 NOT NULL,
    name_uses int4 NOT NULL,
    CHECK ((interface IS NULL) = (body IS NULL))
);

CREATE INDEX IF NOT EXISTS symbols_repository ON {schema}.symbols (repository_id);

CREATE INDEX IF NOT EXISTS symbols_incomplete ON {schema}.symbols (repository_id) WHERE truncated OR interface IS NULL;

CREATE INDEX IF NOT EXISTS symbols_unresolved ON {schema}.symbols (repository_id) WHERE NOT resolved;

-- Names whose meaning a file of this language changed since the uses of its repository were last resolved.
CREATE TABLE IF NOT EXISTS {schema}.name_changes (
    file_id int8 PRIMARY KEY,
    repository_id int8 NOT NULL,
    language text NOT NULL,
    names int4[] NOT NULL
);

-- What a definition, or a file outside of its definitions, does with a definition, or with a name whose definition is not known.
CREATE TABLE IF NOT EXISTS {schema}.uses (
    file_id int8 NOT NULL,
    ordinal int4 NOT NULL,
    source int8 NOT NULL,
    target int8,
    name int8,
    certainty int2 NOT NULL,
    kinds int2 NOT NULL,
    places int8[] NOT NULL,
    PRIMARY KEY (file_id, ordinal),
    CHECK ((target IS NULL) <> (name IS NULL))
);

CREATE INDEX IF NOT EXISTS uses_target ON {schema}.uses (target) WHERE target IS NOT NULL;

CREATE INDEX IF NOT EXISTS uses_name ON {schema}.uses (name) WHERE name IS NOT NULL;
