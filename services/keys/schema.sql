-- Schema after all migrations. A test writes it from pg_catalog with UPDATE_SCHEMA=1.

CREATE TABLE account (
  id uuid NOT NULL,
  name text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  response_format text,
  CONSTRAINT account_response_format_check CHECK (response_format = ANY (ARRAY['url'::text, 'b64_json'::text, 'b64_ephemeral'::text])),
  CONSTRAINT account_pkey PRIMARY KEY (id)
);

CREATE TABLE api_key (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  name text NOT NULL,
  kind text NOT NULL,
  digest bytea NOT NULL,
  hint text NOT NULL,
  active boolean NOT NULL DEFAULT true,
  cap_credits bigint /* former name of spend_limit_credits */,
  period text,
  expires_at timestamp with time zone,
  created_at timestamp with time zone NOT NULL,
  deleted_at timestamp with time zone,
  ordinal bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  revision bigint NOT NULL DEFAULT 0 /* Counts the changes that were begun; raised for good before billing is told. */,
  response_format text,
  allowed_models text[],
  allowed_providers text[],
  former_digest bytea,
  former_hint text,
  former_ends_at timestamp with time zone,
  budget_id uuid,
  saves_texts boolean NOT NULL DEFAULT false,
  unsettled_since timestamp with time zone,
  spend_limit_credits bigint,
  CONSTRAINT api_key_allowed_models_check CHECK (cardinality(allowed_models) >= 1 AND cardinality(allowed_models) <= 100),
  CONSTRAINT api_key_allowed_providers_check CHECK (cardinality(allowed_providers) >= 1 AND cardinality(allowed_providers) <= 100),
  CONSTRAINT api_key_cap_credits_check CHECK (cap_credits >= 0),
  CONSTRAINT api_key_check CHECK (period IS NULL OR cap_credits IS NOT NULL),
  CONSTRAINT api_key_check1 CHECK (kind = 'normal'::text OR cap_credits IS NULL),
  CONSTRAINT api_key_check2 CHECK (kind = 'normal'::text OR budget_id IS NULL),
  CONSTRAINT api_key_digest_check CHECK (octet_length(digest) = 32),
  CONSTRAINT api_key_former_digest_check CHECK (octet_length(former_digest) = 32),
  CONSTRAINT api_key_kind_check CHECK (kind = ANY (ARRAY['normal'::text, 'management'::text])),
  CONSTRAINT api_key_period_check CHECK (period = ANY (ARRAY['day'::text, 'week'::text, 'month'::text])),
  CONSTRAINT api_key_response_format_check CHECK (response_format = ANY (ARRAY['url'::text, 'b64_json'::text, 'b64_ephemeral'::text])),
  CONSTRAINT api_key_spend_limit_credits_check CHECK (spend_limit_credits >= 0),
  CONSTRAINT api_key_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT api_key_pkey PRIMARY KEY (id),
  CONSTRAINT api_key_digest_key UNIQUE (digest),
  CONSTRAINT api_key_former_digest_key UNIQUE (former_digest)
);

CREATE INDEX account_oldest ON account USING btree (created_at, id);

CREATE INDEX api_key_of_account ON api_key USING btree (account_id, ordinal DESC) WHERE deleted_at IS NULL;

CREATE INDEX api_key_unsettled ON api_key USING btree (unsettled_since) WHERE unsettled_since IS NOT NULL;
