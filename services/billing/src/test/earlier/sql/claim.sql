-- Who may have an Idempotency-Key that somebody has.

-- How long a claim lasts once its hold is resolved.
CREATE FUNCTION claim_lifetime() RETURNS interval LANGUAGE sql IMMUTABLE RETURN interval '24 hours';

-- What a place meets that claims this key; null when the key is free. A released hold was free, so its key may be used
-- again, unless its answer was kept and may have been seen.
CREATE FUNCTION claim_outcome(c idempotency, holder_state hold_state, wanted bytea, moment timestamptz) RETURNS outcome
LANGUAGE sql STABLE
RETURN CASE
  WHEN holder_state = 'released' AND c.content_type IS NULL THEN NULL
  WHEN holder_state <> 'open' AND c.claimed_at <= moment - claim_lifetime() THEN NULL
  WHEN c.fingerprint <> wanted THEN 'claim_mismatch'::outcome
  WHEN holder_state = 'open' THEN 'claim_in_progress'
  ELSE 'claim_finished' END;
