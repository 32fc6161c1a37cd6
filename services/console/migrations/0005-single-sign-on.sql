-- People who sign in at an issuer of their organization, and what a browser has begun and must come back with.
CREATE TABLE identity (
  id uuid PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  issuer text NOT NULL,
  subject text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (issuer, subject),
  UNIQUE (person_id, issuer)
);
COMMENT ON TABLE identity IS 'Who a person is at an issuer: its subject, never its e-mail address, which may become somebody else''s.';

CREATE TABLE challenge (
  token_digest bytea PRIMARY KEY CHECK (octet_length(token_digest) = 32),
  purpose text NOT NULL,
  secrets jsonb NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX challenge_expires_at ON challenge (expires_at);
COMMENT ON TABLE challenge IS 'What a browser has begun and must come back with, once; it has the token in a cookie.';
COMMENT ON COLUMN challenge.token_digest IS 'SHA-256 of the token in the cookie.';
