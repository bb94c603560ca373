-- Which jobs exclude one another, and who could not do one. A statement ends with a semicolon at the end of a line.

-- Of the jobs of one project and one lane, one runs at a time. `writer` is the lane of everything that writes the index.
ALTER TABLE pairofcleats.jobs ADD COLUMN lane text NOT NULL DEFAULT 'writer';

-- Workers that took the job and cannot see what it is about, since when, and until when they leave it to others.
ALTER TABLE pairofcleats.jobs ADD COLUMN passed_by text[] NOT NULL DEFAULT '{}';

ALTER TABLE pairofcleats.jobs ADD COLUMN passed_since timestamptz;

ALTER TABLE pairofcleats.jobs ADD COLUMN retry_at timestamptz;

-- A worker takes the oldest job of a kind: this holds the jobs that are not over, in that order.
CREATE INDEX jobs_waiting ON pairofcleats.jobs (kind, created_at, id) WHERE state IN ('queued', 'running');

-- Whether a job about a subject ended lately, and the newest jobs about it.
CREATE INDEX jobs_ended ON pairofcleats.jobs (project_id, kind, subject, finished_at) WHERE finished_at IS NOT NULL;
