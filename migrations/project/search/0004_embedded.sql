-- Chunks up to this one have their vectors: what is new is looked for behind it, not among all chunks.

ALTER TABLE {schema}.index_state ADD COLUMN IF NOT EXISTS embedded_to int8 NOT NULL DEFAULT 0;

-- In a large table the planner sees too few of the files and takes each for three times its size.
ALTER TABLE {schema}.chunks ALTER COLUMN file_id SET (n_distinct = -0.07);

ALTER TABLE {schema}.facts ALTER COLUMN file_id SET (n_distinct = -0.07);

ALTER TABLE {schema}.lexical ALTER COLUMN file_id SET (n_distinct = -0.07);
