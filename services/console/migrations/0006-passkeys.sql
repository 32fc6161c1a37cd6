-- Passkeys: public keys of what people sign in with instead of a password.
CREATE TABLE passkey (
  id uuid PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  credential_id text NOT NULL UNIQUE,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);
CREATE INDEX passkey_of_person ON passkey (person_id);
COMMENT ON COLUMN passkey.credential_id IS 'As the authenticator names it, in base64url.';
COMMENT ON COLUMN passkey.public_key IS 'A COSE key.';
COMMENT ON COLUMN passkey.counter IS 'Of signatures, as the authenticator has said last; most say 0.';
