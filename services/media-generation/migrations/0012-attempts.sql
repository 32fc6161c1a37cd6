-- Ended attempts: [{ "provider", "upstreamModel", "outcome", "beganMs", "tookMs", "madeMs" }]. Null if an older version changed the row.
ALTER TABLE generation ADD COLUMN attempts json;

COMMENT ON COLUMN generation.attempts IS 'ended attempts, oldest first; null if an older version ended the row';
