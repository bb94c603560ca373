-- What the last check found out about the pages of a run. {schema} is the quoted name.
-- A statement ends with a semicolon at the end of a line.

-- One row for the newest pages of a product on a watched site. `generation` is that of the repository when it was compared. `report` is
-- JSON: the sentences that are stale, and the files that need not be read again.
CREATE TABLE IF NOT EXISTS {schema}.launch_watches (
    run_id text PRIMARY KEY,
    checked_sha text NOT NULL,
    generation int8 NOT NULL,
    checked_ms int8 NOT NULL,
    claims int4 NOT NULL,
    stale int4 NOT NULL,
    report text NOT NULL
);
