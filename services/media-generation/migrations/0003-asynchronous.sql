-- Requests whose callers do not wait: they may be given up, and whoever repeats one while it runs is told which it is.
ALTER TABLE generation
  ADD COLUMN asynchronous boolean NOT NULL DEFAULT false,
  -- Digest of its Idempotency-Key.
  ADD COLUMN claim_key    bytea;

CREATE INDEX generation_claim ON generation (claim_key) WHERE claim_key IS NOT NULL AND booked_at IS NULL;

COMMENT ON COLUMN generation.asynchronous IS 'its caller does not wait for it, and may give it up';
COMMENT ON COLUMN generation.claim_key IS 'digest of its Idempotency-Key';
