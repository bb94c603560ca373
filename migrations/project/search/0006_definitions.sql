-- Every definition with its place, in the chunk where its name stands, and the line of what a chunk is about.

ALTER TABLE {schema}.chunks ADD COLUMN IF NOT EXISTS name_line int4;

-- Without ids of its own a definition is the only one of its chunk, and what holds of the chunk holds of it.
CREATE TABLE IF NOT EXISTS {schema}.definitions (
    chunk_id int8 NOT NULL,
    ordinal int4 NOT NULL,
    file_id int8 NOT NULL,
    name text NOT NULL,
    qualified text NOT NULL,
    kind text NOT NULL,
    signature text,
    line int4 NOT NULL,
    name_column int4 NOT NULL,
    start_line int4 NOT NULL,
    end_line int4 NOT NULL,
    exported bool,
    ids int8[],
    PRIMARY KEY (chunk_id, ordinal)
);

CREATE INDEX IF NOT EXISTS definitions_file ON {schema}.definitions (file_id);
