-- Accounts and API keys. No column holds a secret: `digest` is an HMAC under a pepper that lives outside the database.
CREATE TABLE account (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL
);

CREATE TABLE api_key (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account (id),
  name text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('normal', 'management')),
  digest bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
  hint text NOT NULL,
  active boolean NOT NULL DEFAULT true,
  cap_credits bigint CHECK (cap_credits >= 0),
  period text CHECK (period IN ('day', 'week', 'month')),
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  deleted_at timestamptz,
  -- Order of minting, also among keys of the same millisecond.
  ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  revision bigint NOT NULL DEFAULT 0,
  CHECK (period IS NULL OR cap_credits IS NOT NULL),
  CHECK (kind = 'normal' OR cap_credits IS NULL)
);
-- Orders what billing is told of a key: a late message must not undo a newer one.
COMMENT ON COLUMN api_key.revision IS 'Counts the changes that were begun; raised for good before billing is told.';

CREATE INDEX api_key_of_account ON api_key (account_id, ordinal DESC) WHERE deleted_at IS NULL;
