-- Schema after all migrations. A test writes it from pg_catalog with UPDATE_SCHEMA=1.

CREATE TABLE account (
  id uuid NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT account_pkey PRIMARY KEY (id)
);

-- One row: the console has a copy of each account that was created before complete_until.
CREATE TABLE account_copy (
  is_only boolean NOT NULL DEFAULT true,
  complete_until timestamp with time zone NOT NULL,
  CONSTRAINT account_copy_is_only_check CHECK (is_only),
  CONSTRAINT account_copy_pkey PRIMARY KEY (is_only)
);

CREATE TABLE alert (
  ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  kind text NOT NULL,
  at timestamp with time zone NOT NULL,
  facts jsonb NOT NULL,
  mail text NOT NULL,
  mail_due_at timestamp with time zone,
  mail_tries integer NOT NULL DEFAULT 0,
  webhook text NOT NULL,
  webhook_url text,
  webhook_due_at timestamp with time zone,
  webhook_tries integer NOT NULL DEFAULT 0,
  CONSTRAINT alert_mail_check CHECK (mail = ANY (ARRAY['none'::text, 'pending'::text, 'sent'::text, 'limited'::text, 'failed'::text])),
  CONSTRAINT alert_webhook_check CHECK (webhook = ANY (ARRAY['none'::text, 'pending'::text, 'sent'::text, 'refused'::text, 'failed'::text])),
  CONSTRAINT alert_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT alert_pkey PRIMARY KEY (ordinal),
  CONSTRAINT alert_id_key UNIQUE (id)
);

-- A threshold that is crossed and reported; without its row, the next crossing is reported.
CREATE TABLE alert_crossing (
  account_id uuid NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  percent integer NOT NULL,
  period text NOT NULL,
  crossed_at timestamp with time zone NOT NULL,
  CONSTRAINT alert_crossing_kind_check CHECK (kind = ANY (ARRAY['low_balance'::text, 'budget'::text, 'failure_rate'::text])),
  CONSTRAINT alert_crossing_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT alert_crossing_pkey PRIMARY KEY (account_id, kind, subject, percent)
);

CREATE TABLE alert_setting (
  account_id uuid NOT NULL,
  low_balance_credits bigint,
  budget_percents integer[] NOT NULL DEFAULT '{}'::integer[],
  failure_percent integer,
  by_mail boolean NOT NULL DEFAULT false,
  webhook_url text,
  due_at timestamp with time zone NOT NULL /* Next check. A process that checks the account has moved it ahead. */,
  claim bigint NOT NULL DEFAULT 0 /* A check stores its result only while it has the newest claim. */,
  CONSTRAINT alert_setting_failure_percent_check CHECK (failure_percent >= 1 AND failure_percent <= 100),
  CONSTRAINT alert_setting_low_balance_credits_check CHECK (low_balance_credits > 0),
  CONSTRAINT alert_setting_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT alert_setting_pkey PRIMARY KEY (account_id)
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

-- Rule of an account: below the threshold, charge the amount, at most the limit in a month (UTC).
CREATE TABLE auto_top_up (
  account_id uuid NOT NULL,
  threshold_credits bigint NOT NULL,
  amount_credits bigint NOT NULL,
  monthly_limit_credits bigint NOT NULL,
  is_on boolean NOT NULL,
  changed_by text NOT NULL /* E-mail address of the person who changed the rule last; receipts are sent there. */,
  problem text /* Reason for which a failed, refunded or disputed charge has switched it off. */,
  limit_month text /* Month as 2026-11 in which the limit was reached and reported. */,
  report jsonb /* Alert that is not stored yet. */,
  due_at timestamp with time zone NOT NULL,
  CONSTRAINT auto_top_up_check CHECK (amount_credits >= threshold_credits),
  CONSTRAINT auto_top_up_check1 CHECK (monthly_limit_credits >= amount_credits),
  CONSTRAINT auto_top_up_threshold_credits_check CHECK (threshold_credits > 0),
  CONSTRAINT auto_top_up_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT auto_top_up_pkey PRIMARY KEY (account_id)
);

-- What a browser has begun and must come back with, once; it has the token in a cookie.
CREATE TABLE challenge (
  token_digest bytea NOT NULL /* SHA-256 of the token in the cookie. */,
  purpose text NOT NULL,
  secrets jsonb NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  CONSTRAINT challenge_token_digest_check CHECK (octet_length(token_digest) = 32),
  CONSTRAINT challenge_pkey PRIMARY KEY (token_digest)
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

-- Who a person is at an issuer: its subject, never its e-mail address, which may become somebody else's.
CREATE TABLE identity (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  issuer text NOT NULL,
  subject text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  last_used_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT identity_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id) ON DELETE CASCADE,
  CONSTRAINT identity_pkey PRIMARY KEY (id),
  CONSTRAINT identity_issuer_subject_key UNIQUE (issuer, subject),
  CONSTRAINT identity_person_id_issuer_key UNIQUE (person_id, issuer)
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
  is_mailed boolean NOT NULL DEFAULT false /* False: the inviter has the link, which proves nothing about the address. */,
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

-- The automatic payment of an account that is pending: at most one.
CREATE TABLE open_charge (
  account_id uuid NOT NULL,
  payment_id uuid NOT NULL,
  attempted_at timestamp with time zone /* Time of the last request to Stripe for the charge; null = none yet. */,
  CONSTRAINT open_charge_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT open_charge_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payment(id),
  CONSTRAINT open_charge_pkey PRIMARY KEY (account_id),
  CONSTRAINT open_charge_payment_id_key UNIQUE (payment_id)
);

CREATE TABLE operator (
  person_id uuid NOT NULL,
  added_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT operator_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id) ON DELETE CASCADE,
  CONSTRAINT operator_pkey PRIMARY KEY (person_id)
);

CREATE TABLE passkey (
  id uuid NOT NULL,
  person_id uuid NOT NULL,
  credential_id text NOT NULL /* As the authenticator names it, in base64url. */,
  public_key bytea NOT NULL /* A COSE key. */,
  counter bigint NOT NULL /* Of signatures, as the authenticator has said last; most say 0. */,
  transports text[] NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  last_used_at timestamp with time zone,
  CONSTRAINT passkey_person_id_fkey FOREIGN KEY (person_id) REFERENCES person(id) ON DELETE CASCADE,
  CONSTRAINT passkey_pkey PRIMARY KEY (id),
  CONSTRAINT passkey_credential_id_key UNIQUE (credential_id)
);

-- An account as a customer at Stripe, and its saved card.
CREATE TABLE payer (
  account_id uuid NOT NULL,
  customer_id text NOT NULL,
  setup_session_id text /* Of the Checkout that saves a card; null = none is open. */,
  setup_by text /* E-mail address of the person who opened it. */,
  setup_checked_at timestamp with time zone,
  payment_method_id text,
  card_brand text,
  card_last4 text,
  card_expires text /* Month and year as 08/28. */,
  CONSTRAINT payer_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT payer_pkey PRIMARY KEY (account_id),
  CONSTRAINT payer_customer_id_key UNIQUE (customer_id),
  CONSTRAINT payer_setup_session_id_key UNIQUE (setup_session_id)
);

CREATE TABLE payment (
  id uuid NOT NULL /* A UUID of version 7, so their order is that of time. */,
  account_id uuid NOT NULL,
  credits bigint NOT NULL /* 1e-4 USD. */,
  status text NOT NULL,
  asked_by text NOT NULL /* E-mail address; kept when the person is gone. */,
  session_id text /* Of the Checkout at Stripe; null until it is open there. */,
  checkout_url text,
  intent_id text /* Of the PaymentIntent, once Stripe has said it. */,
  receipt_url text,
  problem text /* Why it was not booked although it was paid, for the operator; null = nothing is wrong. */,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  changed_at timestamp with time zone NOT NULL DEFAULT now(),
  checked_at timestamp with time zone NOT NULL DEFAULT now() /* When Stripe was last asked about it. */,
  is_automatic boolean NOT NULL DEFAULT false /* True: a charge of a saved card. Its session_id is no Checkout: a version without automatic charges asks Stripe for it, gets an error, and books nothing. */,
  customer_id text,
  payment_method_id text,
  failure text /* Reason of a refused charge, for people. */,
  invoice_id text,
  CONSTRAINT payment_credits_check CHECK (credits > 0),
  CONSTRAINT payment_status_check CHECK (status = ANY (ARRAY['pending'::text, 'completed'::text, 'failed'::text, 'refunded'::text])),
  CONSTRAINT payment_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT payment_pkey PRIMARY KEY (id),
  CONSTRAINT payment_intent_id_key UNIQUE (intent_id),
  CONSTRAINT payment_session_id_key UNIQUE (session_id)
);

-- Partial refunds and disputes: which adjustment of billing belongs to which payment.
CREATE TABLE payment_reversal (
  adjustment_id uuid NOT NULL,
  payment_id uuid NOT NULL,
  credits bigint NOT NULL /* Below zero took credit, above zero gave it back. */,
  reason text NOT NULL,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT payment_reversal_payment_id_fkey FOREIGN KEY (payment_id) REFERENCES payment(id),
  CONSTRAINT payment_reversal_pkey PRIMARY KEY (adjustment_id)
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

-- The last daily comparison of each provider's statement with the books.
CREATE TABLE statement_comparison (
  statement text NOT NULL,
  due_at timestamp with time zone NOT NULL /* When the next process compares; moved on at the start of each comparison. */,
  result jsonb /* A StatementComparison as JSON; null until the first. */,
  problem text /* Why the last try read no statement; null after a comparison. */,
  CONSTRAINT statement_comparison_pkey PRIMARY KEY (statement)
);

-- What Stripe has told us and we have done; it tells some things again, for three days.
CREATE TABLE stripe_event (
  id text NOT NULL,
  received_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT stripe_event_pkey PRIMARY KEY (id)
);

-- Links that work once: to set a password, to sign in.
CREATE TABLE verification (
  id text NOT NULL,
  identifier text NOT NULL,
  value text NOT NULL,
  expires_at timestamp with time zone NOT NULL,
  created_at timestamp with time zone NOT NULL,
  updated_at timestamp with time zone NOT NULL,
  CONSTRAINT verification_pkey PRIMARY KEY (id)
);

CREATE INDEX account_newest ON account USING btree (created_at, id);

CREATE INDEX alert_by_time ON alert USING btree (at);

CREATE INDEX alert_mail_due ON alert USING btree (mail_due_at) WHERE mail = 'pending'::text;

CREATE INDEX alert_of_account ON alert USING btree (account_id, ordinal DESC);

CREATE INDEX alert_setting_due ON alert_setting USING btree (due_at);

CREATE INDEX alert_webhook_due ON alert USING btree (webhook_due_at) WHERE webhook = 'pending'::text;

CREATE INDEX attempt_window ON attempt USING btree (window_ends_at);

CREATE INDEX audit_of_account ON audit USING btree (account_id, id);

CREATE INDEX auto_top_up_due ON auto_top_up USING btree (due_at) WHERE is_on;

CREATE INDEX auto_top_up_report ON auto_top_up USING btree (account_id) WHERE report IS NOT NULL;

CREATE INDEX challenge_expires_at ON challenge USING btree (expires_at);

CREATE INDEX credential_of_person ON credential USING btree (person_id);

CREATE INDEX invitation_by_email ON invitation USING btree (email);

CREATE INDEX membership_of_person ON membership USING btree (person_id);

CREATE INDEX passkey_of_person ON passkey USING btree (person_id);

CREATE INDEX payment_automatic ON payment USING btree (account_id, created_at) WHERE is_automatic;

CREATE INDEX payment_of_account ON payment USING btree (account_id, id);

CREATE INDEX payment_pending ON payment USING btree (checked_at) WHERE status = 'pending'::text;

CREATE INDEX payment_uninvoiced ON payment USING btree (created_at) WHERE is_automatic AND status = 'completed'::text AND invoice_id IS NULL;

CREATE INDEX payment_with_problem ON payment USING btree (id) WHERE problem IS NOT NULL;

CREATE INDEX reversal_of_payment ON payment_reversal USING btree (payment_id);

CREATE INDEX session_of_person ON session USING btree (person_id);

CREATE INDEX stripe_event_received_at ON stripe_event USING btree (received_at);

CREATE INDEX verification_by_identifier ON verification USING btree (identifier);
