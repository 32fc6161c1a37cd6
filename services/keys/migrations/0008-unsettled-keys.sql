-- Time since which a change or a mint has been between billing and this row; null = both agree. A key that is being minted has
-- deleted_at until billing has its spender.
ALTER TABLE api_key ADD COLUMN unsettled_since timestamptz;
CREATE INDEX api_key_unsettled ON api_key (unsettled_since) WHERE unsettled_since IS NOT NULL;
