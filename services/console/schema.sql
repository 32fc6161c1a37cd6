-- What the migrations add up to; functions are in sql/. Made from pg_catalog by a test; UPDATE_SCHEMA=1 rewrites it.

CREATE TABLE account (
  id uuid NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT account_pkey PRIMARY KEY (id)
);

CREATE TABLE attempt (
  subject text NOT NULL,
  count integer NOT NULL,
  window_ends_at timestamp with time zone NOT NULL,
  CONSTRAINT attempt_pkey PRIMARY KEY (subject)
);

CREATE TABLE audit (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  account_id uuid NOT NULL,
  at timestamp with time zone NOT NULL DEFAULT now(),
  actor text /* E-mail address; null = the operator. Kept when the person is gone. */,
  action text NOT NULL,
  subject text,
  detail jsonb NOT NULL DEFAULT '{}'::jsonb,
  address text,
  CONSTRAINT audit_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT audit_pkey PRIMARY KEY (id)
);

CREATE TABLE credential (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  provider text NOT NULL,
  provider_account_id text NOT NULL,
  password text /* Its scrypt hash. */,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamp with time zone,
  refresh_token_expires_at timestamp with time zone,
  scope text,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT credential_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id) ON DELETE CASCADE,
  CONSTRAINT credential_pkey PRIMARY KEY (id)
);

CREATE TABLE invitation (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  email text NOT NULL,
  role text NOT NULL,
  invited_by text NOT NULL,
  token_digest bytea NOT NULL /* SHA-256 of the token in the link. */,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT invitation_role_check CHECK (role = ANY (ARRAY['viewer'::text, 'developer'::text, 'admin'::text, 'owner'::text])),
  CONSTRAINT invitation_token_digest_check CHECK (octet_length(token_digest) = 32),
  CONSTRAINT invitation_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT invitation_pkey PRIMARY KEY (id),
  CONSTRAINT invitation_account_id_email_key UNIQUE (account_id, email),
  CONSTRAINT invitation_token_digest_key UNIQUE (token_digest)
);

CREATE TABLE membership (
  account_id uuid NOT NULL,
  person_id uuid NOT NULL,
  role text NOT NULL,
  joined_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT membership_role_check CHECK (role = ANY (ARRAY['viewer'::text, 'developer'::text, 'admin'::text, 'owner'::text])),
  CONSTRAINT membership_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT membership_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id) ON DELETE CASCADE,
  CONSTRAINT membership_pkey PRIMARY KEY (account_id, person_id)
);

CREATE TABLE person (
  id uuid NOT NULL,
  name text NOT NULL,
  email text NOT NULL /* In lower case. */,
  email_verified boolean NOT NULL,
  image text,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT person_pkey PRIMARY KEY (id),
  CONSTRAINT person_email_key UNIQUE (email)
);

CREATE TABLE session (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  token text NOT NULL /* Of no use without the signature under CONSOLE_SECRET that the cookie has. */,
  expires_at timestamp with time zone NOT NULL,
  address text,
  user_agent text,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT session_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id) ON DELETE CASCADE,
  CONSTRAINT session_pkey PRIMARY KEY (id),
  CONSTRAINT session_token_key UNIQUE (token)
);

-- Links that work once: to set a password, to sign in.
CREATE TABLE verification (
  id uuid NOT NULL,
  identifier text NOT NULL,
  value text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT verification_pkey PRIMARY KEY (id)
);

CREATE INDEX attempt_window ON attempt USING btree (window_ends_at);

CREATE INDEX audit_of_account ON audit USING btree (account_id, id);

CREATE INDEX credential_of_person ON credential USING btree (person_id);

CREATE INDEX invitation_by_email ON invitation USING btree (email);

CREATE INDEX membership_of_person ON membership USING btree (person_id);

CREATE INDEX session_of_person ON session USING btree (person_id);

CREATE INDEX verification_by_identifier ON verification USING btree (identifier);
