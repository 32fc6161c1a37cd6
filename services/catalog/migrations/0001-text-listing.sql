-- The last good listing of each text upstream.
CREATE TABLE text_listing (
  upstream text PRIMARY KEY,
  kind text NOT NULL,
  base_url text NOT NULL,
  imported_at timestamptz NOT NULL
);
COMMENT ON TABLE text_listing IS
  'The last good listing of each text upstream; one of another kind or address is another listing.';

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
