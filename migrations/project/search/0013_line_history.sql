-- Which commit added each line of a file, serialised: runs of lines of one commit, the commits, and their authors. A file that
-- an earlier version attributed has no row until the next run, because its `lines_attributed_to` names no version.
CREATE TABLE IF NOT EXISTS {schema}.line_history (
    file_id int8 PRIMARY KEY,
    lines bytea NOT NULL
);
