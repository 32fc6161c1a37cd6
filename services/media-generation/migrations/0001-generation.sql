-- The generation log, and at the same time the work list of whoever must finish or resolve a generation.
-- A row is written after the hold and before the provider is called: no row means that nothing was sent.
CREATE TABLE generation (
  -- Also the id of the request and of its hold.
  id               uuid PRIMARY KEY,
  account_id       uuid NOT NULL,
  key_id           text NOT NULL,
  kind             text NOT NULL CHECK (kind IN ('image', 'video')),
  model            text NOT NULL,
  provider         text NOT NULL,
  upstream_model   text NOT NULL,
  -- What the provider needs to be asked again, one entry for each of its jobs; null while there is nothing to ask for.
  operations       json,
  state            text NOT NULL CHECK (state IN ('running', 'unknown', 'succeeded', 'failed', 'blocked')),
  -- Validated parameters. Text columns would refuse NUL characters, which prompts may contain; json keeps them escaped.
  request          json NOT NULL,
  price_version    text NOT NULL,
  price_pico_usd   bigint NOT NULL CHECK (price_pico_usd >= 0),
  credits          bigint NOT NULL CHECK (credits >= 0),
  -- Set with the final state.
  charge_credits   bigint CHECK (charge_credits >= 0),
  cost_pico_usd    bigint CHECK (cost_pico_usd >= 0),
  -- Names that the hosted files have or will have; empty when nothing is to be kept.
  outputs          json NOT NULL,
  error_kind       text,
  error_message    text,
  -- The process that works on the row, and the time from which another may take it.
  worker           uuid NOT NULL,
  due_at           timestamptz NOT NULL,
  -- The last moment at which the provider may still book it.
  deadline_at      timestamptz NOT NULL,
  -- Look-ups that found no bill.
  unbilled_lookups integer NOT NULL DEFAULT 0,
  created_at       timestamptz NOT NULL,
  finished_at      timestamptz,
  -- When billing confirmed the capture or the release.
  booked_at        timestamptz,
  CHECK ((state IN ('running', 'unknown')) = (finished_at IS NULL)),
  CHECK ((charge_credits IS NULL) = (finished_at IS NULL) AND (cost_pico_usd IS NULL) = (finished_at IS NULL)),
  CHECK (booked_at IS NULL OR finished_at IS NOT NULL)
);

CREATE INDEX generation_open ON generation (due_at) WHERE booked_at IS NULL;

COMMENT ON TABLE generation IS 'log of generations, and work list of whoever must finish or resolve one';
COMMENT ON COLUMN generation.due_at IS 'from when another process than worker may take the row';
COMMENT ON COLUMN generation.booked_at IS 'when billing confirmed the capture or the release';
