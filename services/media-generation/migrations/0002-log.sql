-- What callers see of the log: what they were told of a failure, what they have had removed, and pages without a scan.
ALTER TABLE generation
  -- The error that its caller was told, by its reason; it stays when a look-up finds out more.
  ADD COLUMN told_reason  text,
  ADD COLUMN told_message text,
  ADD COLUMN told_at      timestamptz,
  -- When its caller had its files and its prompt removed. The money facts stay.
  ADD COLUMN deleted_at   timestamptz,
  ADD CHECK ((told_reason IS NULL) = (told_message IS NULL) AND (told_reason IS NULL) = (told_at IS NULL));

CREATE INDEX generation_of_key ON generation (account_id, key_id, created_at, id);
CREATE INDEX generation_of_account ON generation (account_id, created_at, id);

COMMENT ON COLUMN generation.told_reason IS 'reason of the error that its caller was told';
COMMENT ON COLUMN generation.deleted_at IS 'when its caller had its files and its prompt removed';
