-- Idempotency-Keys with what was answered under them, and corrections of an account's credit.

-- No foreign keys, as for holds: a claim is written under the locks of its account, in the transaction of its hold.
CREATE TABLE idempotency (
  account_id uuid NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea NOT NULL,
  hold_id uuid UNIQUE,
  claimed_at timestamptz NOT NULL,
  content_type text,
  body bytea,
  credits bigint,
  cost bigint,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_claimed_at ON idempotency (claimed_at);
COMMENT ON TABLE idempotency IS 'Claims: an Idempotency-Key of an account, and the one request that runs, or ran, under it.';
COMMENT ON COLUMN idempotency.key IS 'SHA-256 of the endpoint and the key.';
COMMENT ON COLUMN idempotency.fingerprint IS 'SHA-256 of what the client asked for.';
COMMENT ON COLUMN idempotency.hold_id IS 'Null only inside the transaction that is about to decide who gets the key.';
COMMENT ON COLUMN idempotency.content_type IS 'Of the kept answer; null, as body, credits and cost are, until one is kept.';
COMMENT ON COLUMN idempotency.credits IS 'What the hold is, or was, captured with; so is cost.';

CREATE TABLE adjustment (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  credits bigint NOT NULL CHECK (credits <> 0),
  reason text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX adjustment_of_account ON adjustment (account_id);
COMMENT ON TABLE adjustment IS 'A correction of credit by the operator: above zero gives, below zero takes.';

ALTER TABLE entry ADD COLUMN adjustment_id uuid;
CREATE UNIQUE INDEX entry_of_adjustment ON entry (adjustment_id) WHERE adjustment_id IS NOT NULL;

-- The locks of a transaction that calls post more than once or has claims, all of them before anything is read, in the
-- order that everybody keeps: claims by account and key, then accounts by id, then spenders by id. A key that nobody
-- has gets a row without a hold: there is nothing else to lock.
CREATE FUNCTION lock_for_posts(op_hold uuid[], op_account uuid[], op_spender uuid[], claim_account uuid[], claim_key bytea[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  account_ids uuid[] := op_account;
  spender_ids uuid[] := op_spender;
BEGIN
  INSERT INTO idempotency AS c (account_id, key, fingerprint, claimed_at)
    SELECT o.account, o.key, '\x'::bytea, now()
      FROM (SELECT DISTINCT account, key FROM unnest(claim_account, claim_key) AS x (account, key)) o
     ORDER BY o.account, o.key
    -- Changes nothing, but locks the row.
    ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = c.fingerprint WHERE false;
  SELECT account_ids || array_agg(x.account_id), spender_ids || array_agg(x.spender_id)
    INTO account_ids, spender_ids FROM hold x WHERE x.id = ANY (op_hold);
  PERFORM FROM account WHERE id = ANY (account_ids) ORDER BY id FOR NO KEY UPDATE;
  PERFORM FROM spender WHERE id = ANY (spender_ids) ORDER BY id FOR NO KEY UPDATE;
END $$;
