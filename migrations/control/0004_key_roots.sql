-- Directories below which a key may index; null: those of its project.
ALTER TABLE pairofcleats.api_keys ADD COLUMN IF NOT EXISTS roots text[];
