-- The ledger. Customer money is bigint of 1e-4 USD (credits), upstream cost is bigint of 1e-12 USD (pico).
-- account, spender and usage_daily are updated all the time: no index on what changes and room on the page, so that
-- an update touches nothing but its row (HOT). CHECK constraints are parsed for every statement and cost a tenth of a
-- placed hold, so the hot tables have none; `VerifyLedger` recomputes what they would say, and more.

CREATE TYPE spend_period AS ENUM ('lifetime', 'day', 'week', 'month');
CREATE TYPE hold_state AS ENUM ('open', 'captured', 'released');
CREATE TYPE entry_kind AS ENUM ('deposit', 'refund', 'adjustment', 'charge', 'failed', 'late');
-- What the SQL function `post` is asked and answers: see OutcomeCode of the contract. Abandon is a release that gives up on
-- the upstream, next begins the next attempt.
CREATE TYPE operation_kind AS ENUM ('place', 'capture', 'release', 'abandon', 'extend', 'next');
CREATE TYPE outcome AS ENUM (
  'done', 'insufficient_credits', 'spend_limit_exceeded', 'spender_inactive', 'spender_expired', 'unknown_hold',
  'already_resolved', 'free_limit_exceeded', 'claim_in_progress', 'claim_mismatch', 'claim_finished');
CREATE TYPE deposit_status AS ENUM ('PENDING', 'COMPLETED', 'FAILED', 'REFUNDED');

CREATE TABLE account (
  id uuid PRIMARY KEY,
  credits bigint NOT NULL DEFAULT 0,
  debits bigint NOT NULL DEFAULT 0,
  held bigint NOT NULL DEFAULT 0,
  free_day date,
  free_used integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
COMMENT ON TABLE account IS 'Running totals of one customer: a hold fits while credits - debits - held allows it.';
COMMENT ON COLUMN account.credits IS 'Completed deposits less refunds, plus adjustments.';
COMMENT ON COLUMN account.debits IS 'Charges; may exceed credits after an overrun.';
COMMENT ON COLUMN account.held IS 'Credits of open holds.';
COMMENT ON COLUMN account.free_day IS 'The UTC day that free_used counts; it never moves back.';
COMMENT ON COLUMN account.free_used IS 'Places of nothing on that day, while there was a limit; not given back.';

CREATE TABLE spender (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  name text NOT NULL,
  cap bigint,
  period spend_period NOT NULL,
  expires_at timestamptz,
  active boolean NOT NULL,
  created_at timestamptz NOT NULL,
  window_no integer NOT NULL DEFAULT 0,
  window_start timestamptz,
  window_used bigint NOT NULL DEFAULT 0,
  window_held bigint NOT NULL DEFAULT 0,
  used bigint NOT NULL DEFAULT 0,
  requests bigint NOT NULL DEFAULT 0,
  revision bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX spender_of_account ON spender (account_id);
COMMENT ON TABLE spender IS 'What may spend: one row per API key, with its cap, its window and its running totals.';
COMMENT ON COLUMN spender.cap IS 'Most credits per window; null = no cap.';
COMMENT ON COLUMN spender.window_no IS 'Counts windows. A hold and its charge belong to the window it was placed in.';
COMMENT ON COLUMN spender.window_start IS 'Null for lifetime, and until the first hold after a change of period.';
COMMENT ON COLUMN spender.used IS 'Charges of its whole life.';
COMMENT ON COLUMN spender.requests IS 'Captured holds of its whole life.';
COMMENT ON COLUMN spender.revision IS 'Counts its changes; a write with a lower one is ignored.';

-- No foreign keys: a hold is written under the locks of its account and spender, and neither is ever deleted.
CREATE TABLE hold (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL,
  spender_id uuid NOT NULL,
  credits bigint NOT NULL,
  placed_at timestamptz NOT NULL,
  deadline_at timestamptz NOT NULL,
  lease_until timestamptz,
  charge bigint,
  cost bigint,
  window_no integer NOT NULL,
  attempt integer NOT NULL,
  state hold_state NOT NULL,
  service text NOT NULL,
  provider text NOT NULL,
  upstream_model text NOT NULL,
  model text NOT NULL,
  price_version text NOT NULL
);
CREATE INDEX hold_open ON hold (service, deadline_at) WHERE state = 'open';
COMMENT ON TABLE hold IS 'Credits reserved for one request: open, then captured or released, once.';
COMMENT ON COLUMN hold.lease_until IS 'Until then somebody is finding out what became of it.';
COMMENT ON COLUMN hold.credits IS 'What it reserves.';
COMMENT ON COLUMN hold.charge IS 'Credits; null while open.';
COMMENT ON COLUMN hold.cost IS 'Pico, of the last attempt; null while open.';
COMMENT ON COLUMN hold.attempt IS 'Number of the current attempt, from 1; provider and upstream_model are those of this attempt.';

CREATE TABLE deposit (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  credits bigint NOT NULL CHECK (credits > 0),
  status deposit_status NOT NULL,
  source text NOT NULL,
  created_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL
);
COMMENT ON TABLE deposit IS 'Money from outside; only COMPLETED ones count.';

CREATE TABLE adjustment (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  credits bigint NOT NULL CHECK (credits <> 0),
  reason text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX adjustment_of_account ON adjustment (account_id);
COMMENT ON TABLE adjustment IS 'A correction of credit by the operator: above zero gives, below zero takes.';

CREATE TABLE entry (
  id bigint GENERATED ALWAYS AS IDENTITY,
  at timestamptz NOT NULL,
  account_id uuid NOT NULL,
  hold_id uuid,
  deposit_id uuid,
  credits bigint NOT NULL DEFAULT 0,
  cost bigint NOT NULL DEFAULT 0,
  kind entry_kind NOT NULL,
  provider text,
  attempt integer,
  adjustment_id uuid,
  UNIQUE (hold_id, kind, attempt)
);
CREATE UNIQUE INDEX entry_of_deposit ON entry (deposit_id, kind) WHERE deposit_id IS NOT NULL;
CREATE UNIQUE INDEX entry_of_adjustment ON entry (adjustment_id) WHERE adjustment_id IS NOT NULL;
COMMENT ON TABLE entry IS 'The journal. Each row is one transfer in each ledger; the view posting shows both sides.';
COMMENT ON COLUMN entry.credits IS 'Customer ledger; negative only for an adjustment.';
COMMENT ON COLUMN entry.cost IS 'Cost ledger, pico.';
COMMENT ON COLUMN entry.provider IS 'Who billed the cost: the provider of this attempt of the hold.';
COMMENT ON COLUMN entry.attempt IS 'Of the hold, whose cost this is.';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on %.% is refused: the journal is append-only', tg_op, tg_table_schema, tg_table_name
    USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER entry_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON entry
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE usage_daily (
  account_id uuid NOT NULL,
  day date NOT NULL,
  spender_id uuid NOT NULL,
  model text NOT NULL,
  requests bigint NOT NULL,
  charge bigint NOT NULL,
  cost numeric NOT NULL,
  PRIMARY KEY (account_id, day, spender_id, model)
) WITH (fillfactor = 50);
COMMENT ON TABLE usage_daily IS 'Charges by the UTC day of their capture.';

-- No foreign keys, as for holds: a claim is written under the lock of its account, in the transaction of its hold.
CREATE TABLE idempotency (
  account_id uuid NOT NULL,
  key bytea NOT NULL,
  fingerprint bytea NOT NULL,
  hold_id uuid NOT NULL UNIQUE,
  claimed_at timestamptz NOT NULL,
  content_type text,
  body bytea,
  credits bigint,
  cost bigint,
  PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_claimed_at ON idempotency (claimed_at);
COMMENT ON TABLE idempotency IS 'Claims: an Idempotency-Key of an account, and the one request that runs, or ran, under it.';
COMMENT ON COLUMN idempotency.key IS 'SHA-256 of the endpoint and the key.';
COMMENT ON COLUMN idempotency.fingerprint IS 'SHA-256 of what the client asked for.';
COMMENT ON COLUMN idempotency.hold_id IS 'The request that has the key. Changed under the lock of the account only.';
COMMENT ON COLUMN idempotency.content_type IS 'Of the kept answer; null, as body, credits and cost are, until one is kept.';
COMMENT ON COLUMN idempotency.credits IS 'What the hold is, or was, captured with; so is cost.';

-- Double entry: each side of each transfer, in the ledger it belongs to. Debits equal credits in both.
CREATE VIEW posting AS
  SELECT e.id AS entry_id, e.at, e.kind, side.ledger, side.name AS account, side.debit, side.credit
    FROM entry e
    CROSS JOIN LATERAL (VALUES
      ('credits', CASE e.kind WHEN 'deposit' THEN 'cash' WHEN 'adjustment' THEN 'revenue' ELSE 'cust:' || e.account_id END,
        e.credits, 0::bigint),
      ('credits', CASE e.kind WHEN 'charge' THEN 'revenue' WHEN 'refund' THEN 'cash' ELSE 'cust:' || e.account_id END,
        0::bigint, e.credits),
      ('cost', 'cogs:' || CASE e.kind WHEN 'charge' THEN e.provider ELSE e.kind::text END, e.cost, 0::bigint),
      ('cost', 'payable:' || e.provider, 0::bigint, e.cost)
    ) AS side (ledger, name, debit, credit)
   WHERE side.debit <> 0 OR side.credit <> 0;
COMMENT ON VIEW posting IS 'cash, cust:<account>, revenue in credits; cogs:<provider>, cogs:failed, cogs:late, payable:<provider> in pico.';
