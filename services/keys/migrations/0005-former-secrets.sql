-- The secret of a key before its last rotation works until a moment, and spends from the same limit as the new one.
ALTER TABLE api_key ADD COLUMN former_digest bytea UNIQUE CHECK (octet_length(former_digest) = 32);
ALTER TABLE api_key ADD COLUMN former_hint text;
ALTER TABLE api_key ADD COLUMN former_ends_at timestamptz;
