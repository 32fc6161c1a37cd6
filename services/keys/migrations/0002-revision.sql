-- Orders what billing is told of a key: a late message must not undo a newer one.
ALTER TABLE api_key ADD COLUMN revision bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN api_key.revision IS 'Counts the changes that were begun; raised for good before billing is told.';
