-- The ledger as one append-only table of steps. A row is one change of one account with the totals after it. The key
-- numbers the rows of an account without a gap: of two writers with the same state in memory, only one can write the next row.
-- Each key begins with the bucket, the last byte of the account's id, so a later distribution needs no other schema.
-- Times are Unix milliseconds. No function or trigger: billing's code decides, and the constraints refuse a row that is wrong alone.

-- The rows that the writer sends, as one binary array.
CREATE TYPE step_in AS (
  account_id     uuid,
  id             uuid,
  seq            bigint,
  at             bigint,
  credits        bigint,
  charge         bigint,
  cost           bigint,
  place_seq      bigint,
  deadline_at    bigint,
  credited       bigint,
  debited        bigint,
  held           bigint,
  used1          bigint,
  held1          bigint,
  used2          bigint,
  held2          bigint,
  used3          bigint,
  held3          bigint,
  used4          bigint,
  held4          bigint,
  bucket         integer,
  budget1        integer,
  window1        integer,
  budget2        integer,
  window2        integer,
  budget3        integer,
  window3        integer,
  budget4        integer,
  window4        integer,
  attempt        integer,
  kind           smallint,
  billed_by      text,
  service        text,
  provider       text,
  upstream_model text,
  model          text,
  price_version  text,
  claim          bytea,
  detail         text
);

CREATE TABLE step (
  tx             bigint NOT NULL,
  account_id     uuid NOT NULL,
  id             uuid NOT NULL,
  seq            bigint NOT NULL,
  at             bigint NOT NULL,
  credits        bigint NOT NULL,
  charge         bigint NOT NULL,
  cost           bigint NOT NULL,
  place_seq      bigint,
  deadline_at    bigint,
  credited       bigint NOT NULL,
  debited        bigint NOT NULL,
  held           bigint NOT NULL,
  used1          bigint,
  held1          bigint,
  used2          bigint,
  held2          bigint,
  used3          bigint,
  held3          bigint,
  used4          bigint,
  held4          bigint,
  bucket         integer NOT NULL,
  budget1        integer,
  window1        integer,
  budget2        integer,
  window2        integer,
  budget3        integer,
  window3        integer,
  budget4        integer,
  window4        integer,
  attempt        integer NOT NULL,
  kind           smallint NOT NULL,
  billed_by      text,
  service        text,
  provider       text,
  upstream_model text,
  model          text,
  price_version  text,
  claim          bytea,
  detail         text,
  PRIMARY KEY (bucket, account_id, seq),
  -- PostgreSQL parses a constraint for every statement, so this one is short. Each of its rules protects money. The function
  -- least ignores nulls.
  CONSTRAINT step_is_sound CHECK (
    bucket = get_byte(uuid_send(account_id), 15)
    AND least(charge, cost, debited - charge, held, used1, held1, used2, held2, used3, held3, used4, held4) >= 0
    AND (charge = 0 OR (kind = 5 AND charge <= -credits))
    AND (kind > 3 OR credits <= 0 OR credited - debited >= held)
    AND coalesce(place_seq, 0) < seq AND (place_seq IS NULL) = (kind <= 2 OR kind >= 11))
);
-- Places, deposits, refunds and adjustments begin once.
CREATE UNIQUE INDEX step_beginning ON step (bucket, id, kind) WHERE kind IN (2, 11, 12, 13);
-- Late costs of one hold can be far behind its end in the chain.
CREATE INDEX step_late ON step (bucket, id) WHERE kind = 8;
CREATE INDEX step_tx ON step USING brin (tx) WITH (pages_per_range = 16, autosummarize = on);
COMMENT ON TABLE step IS 'The ledger: one row for each change of an account, with the totals after it. Rows are never changed.';
COMMENT ON COLUMN step.tx IS 'Transaction of the row. Readers of new rows stop below pg_snapshot_xmin, so they read each row once.';
COMMENT ON COLUMN step.id IS 'Hold, deposit, adjustment or budget; otherwise the account.';
COMMENT ON COLUMN step.seq IS 'Number within the account, from 1 without a gap.';
COMMENT ON COLUMN step.at IS 'Unix milliseconds; never before the row before.';
COMMENT ON COLUMN step.credits IS 'Change of held; for deposit, refund and adjustment the change of credited.';
COMMENT ON COLUMN step.cost IS 'Pico that this row books, to the provider in billed_by.';
COMMENT ON COLUMN step.place_seq IS 'seq of the place of the hold.';
COMMENT ON COLUMN step.credited IS 'Total of the account after the row: deposits less refunds, plus adjustments.';
COMMENT ON COLUMN step.debited IS 'Total of the account after the row: charges.';
COMMENT ON COLUMN step.held IS 'Total of the account after the row: credits of open holds.';
COMMENT ON COLUMN step.used1 IS 'Charges of budget1 in window1 after the row. Budgets are numbered from the lowest up.';
COMMENT ON COLUMN step.held1 IS 'Open holds of budget1 in window1 after the row.';
COMMENT ON COLUMN step.window1 IS 'Window of budget1 in which the hold was admitted.';
COMMENT ON COLUMN step.kind IS 'STEP_KINDS of packages/ledger.';
COMMENT ON COLUMN step.claim IS 'Digest of the Idempotency-Key that the place claims.';
COMMENT ON COLUMN step.detail IS 'JSON of the rare kinds: definition of a budget, suspension, amounts of a kept answer.';

CREATE TYPE claim_in AS (
  account_id  uuid,
  hold_id     uuid,
  claimed_at  bigint,
  bucket      integer,
  generation  integer,
  key         bytea,
  fingerprint bytea
);

CREATE TABLE claim (
  account_id  uuid NOT NULL,
  hold_id     uuid NOT NULL,
  claimed_at  bigint NOT NULL,
  bucket      integer NOT NULL,
  generation  integer NOT NULL CHECK (generation > 0),
  key         bytea NOT NULL CHECK (octet_length(key) = 32),
  fingerprint bytea NOT NULL CHECK (octet_length(fingerprint) = 32),
  PRIMARY KEY (bucket, account_id, key, generation)
);
COMMENT ON TABLE claim IS 'Idempotency-Keys and their holds. The latest generation owns the key.';
COMMENT ON COLUMN claim.generation IS 'Number of the owner of this key, from 1. A writer without the latest owner in memory uses a number that exists.';
COMMENT ON COLUMN claim.key IS 'Digest of the endpoint, the key and its owner.';

CREATE TYPE kept_answer_in AS (
  account_id   uuid,
  hold_id      uuid,
  kept_at      bigint,
  bucket       integer,
  content_type text,
  body         bytea
);

CREATE TABLE kept_answer (
  account_id   uuid NOT NULL,
  hold_id      uuid NOT NULL,
  kept_at      bigint NOT NULL,
  bucket       integer NOT NULL,
  content_type text NOT NULL,
  body         bytea NOT NULL,
  PRIMARY KEY (bucket, account_id, hold_id)
);
COMMENT ON TABLE kept_answer IS 'Answers of requests with an Idempotency-Key, stored before the capture.';

CREATE TABLE account_state (
  account_id uuid NOT NULL,
  seq        bigint NOT NULL,
  at         bigint NOT NULL,
  credited   bigint NOT NULL,
  debited    bigint NOT NULL,
  held       bigint NOT NULL,
  free_day   bigint NOT NULL,
  free_used  integer NOT NULL,
  bucket     integer NOT NULL,
  suspended  boolean NOT NULL,
  open_holds text NOT NULL,
  PRIMARY KEY (bucket, account_id)
);
COMMENT ON TABLE account_state IS 'A copy of the state of an account after step seq, from which a cold start continues. It has no power: the steps decide.';
COMMENT ON COLUMN account_state.open_holds IS 'JSON array.';

CREATE TABLE budget_state (
  account_id uuid NOT NULL,
  seq        bigint NOT NULL,
  bucket     integer NOT NULL,
  budget     integer NOT NULL,
  content    text NOT NULL,
  PRIMARY KEY (bucket, account_id, budget)
);
COMMENT ON TABLE budget_state IS 'The budgets of account_state.';
COMMENT ON COLUMN budget_state.content IS 'JSON: definition, totals of windows, lifetime totals.';
