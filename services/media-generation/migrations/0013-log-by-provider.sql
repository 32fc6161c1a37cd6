-- The log of a provider, in the order of its pages.
CREATE INDEX generation_of_provider ON generation (account_id, provider, created_at, id);
