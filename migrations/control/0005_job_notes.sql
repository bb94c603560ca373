-- What happened to a job besides its end. A statement ends with a semicolon at the end of a line.

-- Why its last worker lost it: its process ended, or it made no progress. For people; kept when the job ends.
ALTER TABLE pairofcleats.jobs ADD COLUMN note text;
