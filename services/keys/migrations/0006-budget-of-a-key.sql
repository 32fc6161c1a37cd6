-- The budget above a key, in billing; null = none. Only a key that spends has one.
ALTER TABLE api_key ADD COLUMN budget_id uuid CHECK (kind = 'normal' OR budget_id IS NULL);
