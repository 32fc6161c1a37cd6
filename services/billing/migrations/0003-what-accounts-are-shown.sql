-- What changed an account's credit is listed newest first, a page at a time. Costs of ours are no part of it.
CREATE INDEX entry_of_account ON entry (account_id, id) WHERE kind IN ('deposit', 'refund', 'adjustment', 'charge');
-- Usage is summed by provider, too. Of what was counted before, nobody knows it.
ALTER TABLE usage_daily ADD COLUMN provider text NOT NULL DEFAULT '';
ALTER TABLE usage_daily DROP CONSTRAINT usage_daily_pkey, ADD PRIMARY KEY (account_id, day, spender_id, model, provider);
COMMENT ON COLUMN usage_daily.provider IS 'Who was paid for it; empty for what was counted before 0003.';
