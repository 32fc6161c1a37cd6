-- People and how they sign in: the tables that better-auth works with, under our names. No column has a password: it is
-- hashed with scrypt.
CREATE TABLE person (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  email text NOT NULL UNIQUE,
  email_verified boolean NOT NULL,
  image text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
COMMENT ON COLUMN person.email IS 'In lower case.';

CREATE TABLE session (
  id uuid PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  token text NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL,
  address text,
  user_agent text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX session_of_person ON session (person_id);
COMMENT ON COLUMN session.token IS 'Of no use without the signature under CONSOLE_SECRET that the cookie has.';

CREATE TABLE credential (
  id uuid PRIMARY KEY,
  person_id uuid NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  provider text NOT NULL,
  provider_account_id text NOT NULL,
  password text,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX credential_of_person ON credential (person_id);
COMMENT ON COLUMN credential.password IS 'Its scrypt hash.';

CREATE TABLE verification (
  id uuid PRIMARY KEY,
  identifier text NOT NULL,
  value text NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX verification_by_identifier ON verification (identifier);
COMMENT ON TABLE verification IS 'Links that work once: to set a password, to sign in.';

-- Which person may do what in which account. Accounts are those of the keys service, under the same id.
CREATE TABLE account (
  id uuid PRIMARY KEY,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE membership (
  account_id uuid NOT NULL REFERENCES account (id),
  person_id uuid NOT NULL REFERENCES person (id) ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('viewer', 'developer', 'admin', 'owner')),
  joined_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, person_id)
);
CREATE INDEX membership_of_person ON membership (person_id);

CREATE TABLE invitation (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account (id),
  email text NOT NULL,
  role text NOT NULL CHECK (role IN ('viewer', 'developer', 'admin', 'owner')),
  invited_by text NOT NULL,
  token_digest bytea NOT NULL UNIQUE CHECK (octet_length(token_digest) = 32),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  UNIQUE (account_id, email)
);
CREATE INDEX invitation_by_email ON invitation (email);
COMMENT ON COLUMN invitation.token_digest IS 'SHA-256 of the token in the link.';

CREATE TABLE audit (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  account_id uuid NOT NULL REFERENCES account (id),
  at timestamptz NOT NULL DEFAULT now(),
  actor text,
  action text NOT NULL,
  subject text,
  detail jsonb NOT NULL DEFAULT '{}',
  address text
);
CREATE INDEX audit_of_account ON audit (account_id, id);
COMMENT ON COLUMN audit.actor IS 'E-mail address; null = the operator. Kept when the person is gone.';

-- How often something was tried, in windows: wrong passwords, mails, new accounts.
CREATE TABLE attempt (
  subject text PRIMARY KEY,
  count integer NOT NULL,
  window_ends_at timestamptz NOT NULL
);
CREATE INDEX attempt_window ON attempt (window_ends_at);
