-- What background writers, such as that of the audit log, could not store. A statement ends with a semicolon at the end of a line.

-- A row for each writer of a process that lost entries, or could not write for a while, in the last days. `failing_since` is set while the
-- process tries again; it says so at `noted_at`, again and again.
CREATE TABLE pairofcleats.writers (
    writer text NOT NULL,
    process text NOT NULL,
    lost int8 NOT NULL,
    lost_at timestamptz,
    failing_since timestamptz,
    problem text NOT NULL,
    noted_at timestamptz NOT NULL,
    PRIMARY KEY (writer, process)
);
