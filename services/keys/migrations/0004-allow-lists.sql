-- Models and providers that a key may use; null = all.
ALTER TABLE api_key ADD COLUMN allowed_models text[] CHECK (cardinality(allowed_models) BETWEEN 1 AND 100);
ALTER TABLE api_key ADD COLUMN allowed_providers text[] CHECK (cardinality(allowed_providers) BETWEEN 1 AND 100);
