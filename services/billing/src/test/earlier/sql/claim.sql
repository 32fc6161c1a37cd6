-- Rule of Idempotency-Keys of the version before the chain of steps.
CREATE FUNCTION claim_lifetime() RETURNS interval LANGUAGE sql IMMUTABLE RETURN interval '24 hours';
CREATE FUNCTION claim_outcome(c idempotency, holder_state hold_state, wanted bytea, moment timestamptz) RETURNS outcome
LANGUAGE sql STABLE
RETURN CASE
  WHEN holder_state = 'released' AND c.content_type IS NULL THEN NULL
  WHEN holder_state <> 'open' AND c.claimed_at <= moment - claim_lifetime() THEN NULL
  WHEN c.fingerprint <> wanted THEN 'claim_mismatch'::outcome
  WHEN holder_state = 'open' THEN 'claim_in_progress'
  ELSE 'claim_finished' END;
