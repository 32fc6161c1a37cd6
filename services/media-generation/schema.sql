-- Schema after all migrations. A test writes it from pg_catalog with UPDATE_SCHEMA=1.

-- log of generations, and work list of whoever must finish or resolve one
CREATE TABLE generation (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  key_id text NOT NULL,
  kind text NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  upstream_model text NOT NULL,
  operations json,
  state text NOT NULL,
  request json NOT NULL,
  price_version text NOT NULL,
  price_pico_usd bigint NOT NULL,
  credits bigint NOT NULL,
  charge_credits bigint,
  cost_pico_usd bigint,
  outputs json NOT NULL,
  error_kind text,
  error_message text,
  worker uuid NOT NULL,
  due_at timestamp with time zone NOT NULL /* from when another process than worker may take the row */,
  deadline_at timestamp with time zone NOT NULL,
  unbilled_lookups integer NOT NULL DEFAULT 0,
  created_at timestamp with time zone NOT NULL,
  finished_at timestamp with time zone,
  booked_at timestamp with time zone /* when billing confirmed the capture or the release */,
  told_reason text /* reason of the error that its caller was told */,
  told_message text,
  told_at timestamp with time zone,
  deleted_at timestamp with time zone /* when its caller had its files and its prompt removed */,
  asynchronous boolean NOT NULL DEFAULT false /* its caller does not wait for it, and may give it up */,
  claim_key bytea /* digest of its Idempotency-Key */,
  expired_at timestamp with time zone /* when its files had been kept as long as they were to be, and were removed */,
  previews json NOT NULL DEFAULT '[]'::json /* names of the thumbnails and posters that there are */,
  progress smallint /* percent that its provider has reported while it ran */,
  callback_url text /* address that receives the end of the job */,
  tokens jsonb,
  attempts json /* ended attempts, oldest first; null if an older version ended the row */,
  files_removed_at timestamp with time zone /* when the files of a removed generation were deleted for the last time */,
  CONSTRAINT generation_charge_credits_check CHECK (charge_credits >= 0),
  CONSTRAINT generation_check CHECK ((state = ANY (ARRAY['running'::text, 'unknown'::text])) = (finished_at IS NULL)),
  CONSTRAINT generation_check1 CHECK ((charge_credits IS NULL) = (finished_at IS NULL) AND (cost_pico_usd IS NULL) = (finished_at IS NULL)),
  CONSTRAINT generation_check2 CHECK (booked_at IS NULL OR finished_at IS NOT NULL),
  CONSTRAINT generation_check3 CHECK ((told_reason IS NULL) = (told_message IS NULL) AND (told_reason IS NULL) = (told_at IS NULL)),
  CONSTRAINT generation_cost_pico_usd_check CHECK (cost_pico_usd >= 0),
  CONSTRAINT generation_credits_check CHECK (credits >= 0),
  CONSTRAINT generation_kind_check CHECK (kind = ANY (ARRAY['image'::text, 'video'::text])),
  CONSTRAINT generation_price_pico_usd_check CHECK (price_pico_usd >= 0),
  CONSTRAINT generation_progress_check CHECK (progress >= 0 AND progress <= 100),
  CONSTRAINT generation_state_check CHECK (state = ANY (ARRAY['running'::text, 'unknown'::text, 'succeeded'::text, 'failed'::text, 'blocked'::text])),
  CONSTRAINT generation_pkey PRIMARY KEY (id)
);

-- accounts whose media are not kept as long as the installation's
CREATE TABLE media_retention (
  account_id uuid NOT NULL,
  days integer NOT NULL,
  changed_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT media_retention_days_check CHECK (days >= 0 AND days <= 36500),
  CONSTRAINT media_retention_pkey PRIMARY KEY (account_id)
);

-- log of deliveries, and work list of their sender
CREATE TABLE webhook_delivery (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  key_id text NOT NULL,
  url text NOT NULL,
  receiver text NOT NULL GENERATED ALWAYS AS (COALESCE("substring"(url, '^[a-z]+://[^/?#]*'::text), url)) STORED,
  type text NOT NULL,
  data json NOT NULL,
  state text NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  started_at timestamp with time zone NOT NULL DEFAULT now(),
  due_at timestamp with time zone NOT NULL DEFAULT now() /* next attempt; during an attempt, when another process may repeat it */,
  last_attempt_at timestamp with time zone,
  last_status integer,
  last_error text,
  created_at timestamp with time zone NOT NULL DEFAULT now(),
  ended_at timestamp with time zone,
  CONSTRAINT webhook_delivery_check CHECK ((state = 'pending'::text) = (ended_at IS NULL)),
  CONSTRAINT webhook_delivery_state_check CHECK (state = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text])),
  CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id)
);

-- default addresses of webhooks, of a key or of an account
CREATE TABLE webhook_receiver (
  account_id uuid NOT NULL,
  key_id text NOT NULL,
  url text NOT NULL,
  changed_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT webhook_receiver_pkey PRIMARY KEY (account_id, key_id)
);

-- signing secrets of accounts: two during a rotation
CREATE TABLE webhook_secret (
  account_id uuid NOT NULL,
  secret bytea NOT NULL,
  created_at timestamp with time zone NOT NULL,
  expires_at timestamp with time zone
);

CREATE INDEX generation_claim ON generation USING btree (claim_key) WHERE claim_key IS NOT NULL AND booked_at IS NULL;

CREATE INDEX generation_failed ON generation USING btree (account_id, created_at, id) WHERE state = ANY (ARRAY['failed'::text, 'blocked'::text, 'unknown'::text]);

CREATE INDEX generation_kept ON generation USING btree (account_id, finished_at) WHERE state = 'succeeded'::text AND booked_at IS NOT NULL AND deleted_at IS NULL AND expired_at IS NULL AND json_array_length(outputs) > 0;

CREATE INDEX generation_of_account ON generation USING btree (account_id, created_at, id);

CREATE INDEX generation_of_key ON generation USING btree (account_id, key_id, created_at, id);

CREATE INDEX generation_of_model ON generation USING btree (account_id, model, created_at, id);

CREATE INDEX generation_of_provider ON generation USING btree (account_id, provider, created_at, id);

CREATE INDEX generation_open ON generation USING btree (due_at) WHERE booked_at IS NULL;

CREATE INDEX generation_removed ON generation USING btree (deleted_at) WHERE deleted_at IS NOT NULL AND files_removed_at IS NULL AND json_array_length(outputs) > 0;

CREATE INDEX generation_videos ON generation USING btree (account_id, key_id, created_at, id) WHERE kind = 'video'::text;

CREATE INDEX webhook_delivery_due ON webhook_delivery USING btree (due_at) WHERE state = 'pending'::text;

CREATE INDEX webhook_delivery_ended ON webhook_delivery USING btree (ended_at) WHERE ended_at IS NOT NULL;

CREATE INDEX webhook_delivery_of_account ON webhook_delivery USING btree (account_id, created_at, id);

CREATE INDEX webhook_delivery_waiting ON webhook_delivery USING btree (account_id) WHERE state = 'pending'::text;

CREATE INDEX webhook_secret_of_account ON webhook_secret USING btree (account_id);

CREATE UNIQUE INDEX webhook_secret_newest ON webhook_secret USING btree (account_id) WHERE expires_at IS NULL;
