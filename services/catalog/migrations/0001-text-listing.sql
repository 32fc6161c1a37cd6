-- The last good listing of each text upstream. Amounts are 1e-12 USD per token.
CREATE TABLE text_listing (
  upstream text PRIMARY KEY,
  -- A listing of another address or kind is another listing: it is not taken over.
  kind text NOT NULL,
  base_url text NOT NULL,
  imported_at timestamptz NOT NULL
);

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
