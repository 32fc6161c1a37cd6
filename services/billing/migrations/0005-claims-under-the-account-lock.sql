-- Who has a key of an account is read and written under the lock of the account, which every place takes anyway. So
-- claims need no locks of their own, and no rows to lock.
ALTER TABLE idempotency ALTER COLUMN hold_id SET NOT NULL;
COMMENT ON COLUMN idempotency.hold_id IS 'The request that has the key. Changed under the lock of the account only.';

DROP FUNCTION lock_for_posts(uuid[], uuid[], uuid[], uuid[], bytea[]);

-- The locks of a transaction that calls post more than once or has claims, all of them before anything is read, in the
-- order that everybody keeps: accounts by id, then spenders by id.
CREATE FUNCTION lock_for_posts(op_hold uuid[], op_account uuid[], op_spender uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  account_ids uuid[] := op_account;
  spender_ids uuid[] := op_spender;
BEGIN
  SELECT account_ids || array_agg(x.account_id), spender_ids || array_agg(x.spender_id)
    INTO account_ids, spender_ids FROM hold x WHERE x.id = ANY (op_hold);
  PERFORM FROM account WHERE id = ANY (account_ids) ORDER BY id FOR NO KEY UPDATE;
  PERFORM FROM spender WHERE id = ANY (spender_ids) ORDER BY id FOR NO KEY UPDATE;
END $$;
