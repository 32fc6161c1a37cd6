-- A write of a spender that arrives late must not undo a newer one.
ALTER TABLE spender ADD COLUMN revision bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN spender.revision IS 'Counts its changes; a write with a lower one is ignored.';
