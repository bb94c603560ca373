-- How many milliseconds the text was given in all, over all runs, when its facts are missing because time ran out.
ALTER TABLE {schema}.files ADD COLUMN IF NOT EXISTS facts_tried_ms int8 NOT NULL DEFAULT 0;
