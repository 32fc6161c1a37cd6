-- spend_limit_credits is the new name of cap_credits. This version writes both and reads cap_credits, because the version before
-- writes that alone.
ALTER TABLE api_key ADD COLUMN spend_limit_credits bigint CHECK (spend_limit_credits >= 0);
UPDATE api_key SET spend_limit_credits = cap_credits WHERE cap_credits IS NOT NULL;
COMMENT ON COLUMN api_key.cap_credits IS 'former name of spend_limit_credits';
