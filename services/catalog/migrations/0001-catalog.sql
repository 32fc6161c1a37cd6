-- What text upstreams offer, and every price that was ever offered.
CREATE TABLE text_listing (
  upstream text PRIMARY KEY,
  kind text NOT NULL,
  base_url text NOT NULL,
  imported_at timestamptz NOT NULL,
  revision bigint NOT NULL DEFAULT 1
);
COMMENT ON TABLE text_listing IS
  'The last good listing of each text upstream; one of another kind or address is another listing.';
-- Grows with every import, so that each process sees what another one has imported.
COMMENT ON COLUMN text_listing.revision IS
  'One more with every import: a process that shows an earlier one has something to read.';

CREATE TABLE text_model (
  upstream text NOT NULL REFERENCES text_listing ON DELETE CASCADE,
  id text NOT NULL,
  name text NOT NULL,
  owned_by text NOT NULL,
  capabilities text[] NOT NULL,
  supported_parameters text[] NOT NULL,
  context_tokens bigint CHECK (context_tokens > 0),
  max_output_tokens bigint CHECK (max_output_tokens > 0),
  release_date date,
  shutdown_date date,
  input_pico_usd bigint NOT NULL CHECK (input_pico_usd >= 0),
  output_pico_usd bigint NOT NULL CHECK (output_pico_usd >= 0),
  cached_input_pico_usd bigint CHECK (cached_input_pico_usd >= 0),
  cache_write_pico_usd bigint CHECK (cache_write_pico_usd >= 0),
  audio_input_pico_usd bigint CHECK (audio_input_pico_usd >= 0),
  reasoning_pico_usd bigint CHECK (reasoning_pico_usd >= 0),
  request_pico_usd bigint NOT NULL CHECK (request_pico_usd >= 0),
  PRIMARY KEY (upstream, id)
);
COMMENT ON TABLE text_model IS
  'Rows of the listings. Prices are 1e-12 USD per token; null = billed as input, reasoning as output.';
COMMENT ON COLUMN text_model.request_pico_usd IS 'Per request, whatever its size.';

-- Every price that a model was ever offered at, so that a charge of any day can be worked out again.
CREATE TABLE price_version (
  version text NOT NULL,
  model text NOT NULL,
  rule jsonb NOT NULL,
  first_seen_at timestamptz NOT NULL,
  PRIMARY KEY (version, model)
);
COMMENT ON TABLE price_version IS
  'Every price that a model was ever offered at. A version is the hash of its rule; rows are added, never changed.';
COMMENT ON COLUMN price_version.rule IS 'router.catalog.v1.Price as JSON, the version left out. Amounts are 1e-12 USD.';
