-- Schema after all migrations. A test writes it from pg_catalog with UPDATE_SCHEMA=1.

-- Ends of attempts at a provider within five minutes, of all processes.
CREATE TABLE attempt_window (
  provider text NOT NULL,
  begins_at timestamp with time zone NOT NULL,
  delivered bigint NOT NULL,
  failed bigint NOT NULL,
  refused bigint NOT NULL,
  took_counts bigint[] NOT NULL /* Delivered attempts by duration, in half octaves from 100 ms. */,
  CONSTRAINT attempt_window_pkey PRIMARY KEY (provider, begins_at)
);

-- Every price that a model was ever offered at. A version is the hash of its rule; rows are added, never changed.
CREATE TABLE price_version (
  version text NOT NULL,
  model text NOT NULL,
  rule jsonb NOT NULL /* router.catalog.v1.Price as JSON, the version left out. Amounts are 1e-12 USD. */,
  first_seen_at timestamp with time zone NOT NULL,
  CONSTRAINT price_version_pkey PRIMARY KEY (version, model)
);

-- The last report of each process.
CREATE TABLE process_report (
  process_id uuid NOT NULL,
  service text NOT NULL,
  number bigint NOT NULL /* Number of the report in its process; a lower one changes nothing. */,
  reported_at timestamp with time zone NOT NULL,
  states jsonb NOT NULL /* Routes that are not usual; amounts and instants as text. */,
  CONSTRAINT process_report_number_check CHECK (number > 0),
  CONSTRAINT process_report_pkey PRIMARY KEY (process_id)
);

-- The last good listing of each text upstream; one of another kind or address is another listing.
CREATE TABLE text_listing (
  upstream text NOT NULL,
  kind text NOT NULL,
  base_url text NOT NULL,
  imported_at timestamp with time zone NOT NULL,
  revision bigint NOT NULL DEFAULT 1 /* One more with every import: a process that shows an earlier one has something to read. */,
  CONSTRAINT text_listing_pkey PRIMARY KEY (upstream)
);

-- Rows of the listings. Prices are 1e-12 USD per token; null = billed as input or output.
CREATE TABLE text_model (
  upstream text NOT NULL,
  id text NOT NULL,
  name text NOT NULL,
  owned_by text NOT NULL,
  capabilities text[] NOT NULL,
  supported_parameters text[] NOT NULL,
  context_tokens bigint,
  max_output_tokens bigint,
  release_date date,
  shutdown_date date,
  input_pico_usd bigint NOT NULL,
  output_pico_usd bigint NOT NULL,
  cached_input_pico_usd bigint,
  cache_write_pico_usd bigint,
  audio_input_pico_usd bigint,
  reasoning_pico_usd bigint,
  request_pico_usd bigint NOT NULL /* Per request, whatever its size. */,
  image_input_pico_usd bigint,
  image_output_pico_usd bigint,
  audio_output_pico_usd bigint,
  tools_pico_usd jsonb NOT NULL DEFAULT '{}'::jsonb /* Per call of a tool that the provider runs, by its type in the output; amounts as text. */,
  CONSTRAINT text_model_audio_input_pico_usd_check CHECK (audio_input_pico_usd >= 0),
  CONSTRAINT text_model_audio_output_pico_usd_check CHECK (audio_output_pico_usd >= 0),
  CONSTRAINT text_model_cache_write_pico_usd_check CHECK (cache_write_pico_usd >= 0),
  CONSTRAINT text_model_cached_input_pico_usd_check CHECK (cached_input_pico_usd >= 0),
  CONSTRAINT text_model_context_tokens_check CHECK (context_tokens > 0),
  CONSTRAINT text_model_image_input_pico_usd_check CHECK (image_input_pico_usd >= 0),
  CONSTRAINT text_model_image_output_pico_usd_check CHECK (image_output_pico_usd >= 0),
  CONSTRAINT text_model_input_pico_usd_check CHECK (input_pico_usd >= 0),
  CONSTRAINT text_model_max_output_tokens_check CHECK (max_output_tokens > 0),
  CONSTRAINT text_model_output_pico_usd_check CHECK (output_pico_usd >= 0),
  CONSTRAINT text_model_reasoning_pico_usd_check CHECK (reasoning_pico_usd >= 0),
  CONSTRAINT text_model_request_pico_usd_check CHECK (request_pico_usd >= 0),
  CONSTRAINT text_model_upstream_fkey FOREIGN KEY (upstream) REFERENCES text_listing(upstream) ON DELETE CASCADE,
  CONSTRAINT text_model_pkey PRIMARY KEY (upstream, id)
);

CREATE INDEX attempt_window_begins_at ON attempt_window USING btree (begins_at);
