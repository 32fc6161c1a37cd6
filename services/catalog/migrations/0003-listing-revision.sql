-- Grows with every import, so that each process sees what another one has imported.
ALTER TABLE text_listing ADD COLUMN revision bigint NOT NULL DEFAULT 1;
COMMENT ON COLUMN text_listing.revision IS
  'One more with every import: a process that shows an earlier one has something to read.';
