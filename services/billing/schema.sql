-- Schema after all migrations. A test writes it from pg_catalog with UPDATE_SCHEMA=1.

CREATE TYPE deposit_status AS ENUM ('PENDING', 'COMPLETED', 'FAILED', 'REFUNDED');

CREATE TYPE entry_kind AS ENUM ('deposit', 'refund', 'adjustment', 'charge', 'failed', 'late');

CREATE TYPE hold_state AS ENUM ('open', 'captured', 'released');

CREATE TYPE operation_kind AS ENUM ('place', 'capture', 'release', 'abandon', 'extend', 'next');

CREATE TYPE outcome AS ENUM ('done', 'insufficient_credits', 'spend_limit_exceeded', 'spender_inactive', 'spender_expired', 'unknown_hold', 'already_resolved', 'free_limit_exceeded', 'claim_in_progress', 'claim_mismatch', 'claim_finished');

CREATE TYPE spend_period AS ENUM ('lifetime', 'day', 'week', 'month');

CREATE TYPE claim_in AS (
  account_id uuid,
  hold_id uuid,
  claimed_at bigint,
  bucket integer,
  generation integer,
  key bytea,
  fingerprint bytea
);

CREATE TYPE kept_answer_in AS (
  account_id uuid,
  hold_id uuid,
  kept_at bigint,
  bucket integer,
  content_type text,
  body bytea
);

CREATE TYPE step_in AS (
  account_id uuid,
  id uuid,
  seq bigint,
  at bigint,
  credits bigint,
  charge bigint,
  cost bigint,
  place_seq bigint,
  deadline_at bigint,
  credited bigint,
  debited bigint,
  held bigint,
  used1 bigint,
  held1 bigint,
  used2 bigint,
  held2 bigint,
  used3 bigint,
  held3 bigint,
  used4 bigint,
  held4 bigint,
  bucket integer,
  budget1 integer,
  window1 integer,
  budget2 integer,
  window2 integer,
  budget3 integer,
  window3 integer,
  budget4 integer,
  window4 integer,
  attempt integer,
  kind smallint,
  billed_by text,
  service text,
  provider text,
  upstream_model text,
  model text,
  price_version text,
  claim bytea,
  detail text
);

-- Running totals of one customer: a hold fits while credits - debits - held allows it.
CREATE TABLE account (
  id uuid NOT NULL,
  credits bigint NOT NULL DEFAULT 0 /* Completed deposits less refunds, plus adjustments. */,
  debits bigint NOT NULL DEFAULT 0 /* Charges; may exceed credits after an overrun. */,
  held bigint NOT NULL DEFAULT 0 /* Credits of open holds. */,
  free_day date /* The UTC day that free_used counts; it never moves back. */,
  free_used integer NOT NULL DEFAULT 0 /* Places of nothing on that day, while there was a limit; not given back. */,
  suspended boolean NOT NULL DEFAULT false /* Nothing more is held for it; what is held already is charged or freed as ever. */,
  CONSTRAINT account_pkey PRIMARY KEY (id)
) WITH (fillfactor=50);

-- A copy of the state of an account after step seq, from which a cold start continues. It has no power: the steps decide.
CREATE TABLE account_state (
  account_id uuid NOT NULL,
  seq bigint NOT NULL,
  at bigint NOT NULL,
  credited bigint NOT NULL,
  debited bigint NOT NULL,
  held bigint NOT NULL,
  free_day bigint NOT NULL,
  free_used integer NOT NULL,
  bucket integer NOT NULL,
  suspended boolean NOT NULL,
  open_holds text NOT NULL /* JSON array. */,
  adjusted bigint NOT NULL DEFAULT 0 /* The adjustments in credited. */,
  carried_at bigint NOT NULL DEFAULT 0 /* Time of the step that carried the totals from before the chain; 0 = the account began in the chain. */,
  CONSTRAINT account_state_pkey PRIMARY KEY (bucket, account_id)
);

-- Ended requests by the UTC hour and the UTC day of their end, from committed steps. The follower of usage_by_day fills both.
CREATE TABLE activity (
  account_id uuid NOT NULL,
  budget_id uuid NOT NULL /* The lowest budget of the chain. */,
  begins_at bigint NOT NULL /* Unix milliseconds. */,
  requests bigint NOT NULL /* All ended requests. */,
  errors bigint NOT NULL /* The requests among them that ended without a charge: failed, blocked or cancelled. */,
  charge bigint NOT NULL,
  bucket integer NOT NULL,
  hours smallint NOT NULL,
  service text NOT NULL /* Service of the holds. Empty: days of before the chain of steps. */,
  model text NOT NULL,
  provider text NOT NULL,
  latency integer[] NOT NULL /* Charged requests by the step of the time from the hold to the charge. */,
  CONSTRAINT activity_hours_check CHECK (hours = ANY (ARRAY[1, 24])),
  CONSTRAINT activity_pkey PRIMARY KEY (bucket, account_id, hours, begins_at, budget_id, model, provider, service)
) WITH (fillfactor=50);

-- A correction of credit by the operator: above zero gives, below zero takes.
CREATE TABLE adjustment (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  credits bigint NOT NULL,
  reason text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  CONSTRAINT adjustment_credits_check CHECK (credits <> 0),
  CONSTRAINT adjustment_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT adjustment_pkey PRIMARY KEY (id)
);

-- Ids of the budgets that steps name by number.
CREATE TABLE budget_number (
  account_id uuid NOT NULL,
  budget_id uuid NOT NULL,
  bucket integer NOT NULL,
  budget integer NOT NULL,
  CONSTRAINT budget_number_pkey PRIMARY KEY (bucket, account_id, budget),
  CONSTRAINT budget_number_bucket_account_id_budget_id_key UNIQUE (bucket, account_id, budget_id)
);

-- The budgets of account_state.
CREATE TABLE budget_state (
  account_id uuid NOT NULL,
  seq bigint NOT NULL,
  bucket integer NOT NULL,
  budget integer NOT NULL,
  content text NOT NULL /* JSON: definition, totals of windows, lifetime totals. */,
  CONSTRAINT budget_state_pkey PRIMARY KEY (bucket, account_id, budget)
);

-- Idempotency-Keys and their holds. The latest generation owns the key.
CREATE TABLE claim (
  account_id uuid NOT NULL,
  hold_id uuid NOT NULL,
  claimed_at bigint NOT NULL,
  bucket integer NOT NULL,
  generation integer NOT NULL /* Number of the owner of this key. The latest owner has the largest number in the table. */,
  key bytea NOT NULL /* Digest of the endpoint, the key and its owner. */,
  fingerprint bytea NOT NULL,
  CONSTRAINT claim_fingerprint_check CHECK (octet_length(fingerprint) = 32),
  CONSTRAINT claim_generation_check CHECK (generation > 0),
  CONSTRAINT claim_key_check CHECK (octet_length(key) = 32),
  CONSTRAINT claim_pkey PRIMARY KEY (bucket, account_id, key, generation)
);

-- Costs of all accounts of a bucket by the UTC day of their booking, in pico.
CREATE TABLE cost_by_day (
  bookings bigint NOT NULL,
  day date NOT NULL,
  bucket integer NOT NULL,
  provider text NOT NULL,
  upstream_model text NOT NULL /* Empty for an attempt that another attempt of the same request followed. */,
  cost numeric NOT NULL,
  charged bigint NOT NULL DEFAULT 0,
  lost numeric NOT NULL DEFAULT 0 /* The costs of failed attempts and late bills among the costs. */,
  CONSTRAINT cost_by_day_pkey PRIMARY KEY (bucket, day, provider, upstream_model)
) WITH (fillfactor=50);

-- Money from outside; only COMPLETED ones count.
CREATE TABLE deposit (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  credits bigint NOT NULL,
  status deposit_status NOT NULL,
  source text NOT NULL,
  created_at timestamp with time zone NOT NULL,
  changed_at timestamp with time zone NOT NULL,
  CONSTRAINT deposit_credits_check CHECK (credits > 0),
  CONSTRAINT deposit_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT deposit_pkey PRIMARY KEY (id)
);

-- Reports of payments. A deposit or refund counts by its step alone.
CREATE TABLE deposit_report (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  credits bigint NOT NULL,
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  bucket integer NOT NULL,
  status deposit_status NOT NULL,
  source text NOT NULL,
  CONSTRAINT deposit_report_credits_check CHECK (credits > 0),
  CONSTRAINT deposit_report_pkey PRIMARY KEY (bucket, id)
);

-- The journal. Each row is one transfer in each ledger; the view posting shows both sides.
CREATE TABLE entry (
  id bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
  at timestamp with time zone NOT NULL,
  account_id uuid NOT NULL,
  hold_id uuid,
  deposit_id uuid,
  credits bigint NOT NULL DEFAULT 0 /* Customer ledger; negative only for an adjustment. */,
  cost bigint NOT NULL DEFAULT 0 /* Cost ledger, pico. */,
  kind entry_kind NOT NULL,
  provider text /* Who billed the cost: the provider of this attempt of the hold. */,
  attempt integer /* Of the hold, whose cost this is. */,
  adjustment_id uuid
);

-- Credits reserved for one request: open, then captured or released, once.
CREATE TABLE hold (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  spender_id uuid NOT NULL,
  credits bigint NOT NULL /* What it reserves. */,
  placed_at timestamp with time zone NOT NULL,
  deadline_at timestamp with time zone NOT NULL,
  lease_until timestamp with time zone /* Until then somebody is finding out what became of it. */,
  charge bigint /* Credits; null while open. */,
  cost bigint /* Pico, of the last attempt; null while open. */,
  window_no integer NOT NULL,
  attempt integer NOT NULL /* Number of the current attempt, from 1; provider and upstream_model are those of this attempt. */,
  state hold_state NOT NULL,
  service text NOT NULL,
  provider text NOT NULL,
  upstream_model text NOT NULL,
  model text NOT NULL,
  price_version text NOT NULL,
  CONSTRAINT hold_pkey PRIMARY KEY (id)
);

-- Claims: an Idempotency-Key of an account, and the one request that runs, or ran, under it.
CREATE TABLE idempotency (
  account_id uuid NOT NULL,
  key bytea NOT NULL /* SHA-256 of the endpoint and the key. */,
  fingerprint bytea NOT NULL /* SHA-256 of what the client asked for. */,
  hold_id uuid NOT NULL /* The request that has the key. Changed under the lock of the account only. */,
  claimed_at timestamp with time zone NOT NULL,
  content_type text /* Of the kept answer; null, as body, credits and cost are, until one is kept. */,
  body bytea,
  credits bigint /* What the hold is, or was, captured with; so is cost. */,
  cost bigint,
  CONSTRAINT idempotency_pkey PRIMARY KEY (account_id, key),
  CONSTRAINT idempotency_hold_id_key UNIQUE (hold_id)
);

-- Answers of requests with an Idempotency-Key, stored before the capture.
CREATE TABLE kept_answer (
  account_id uuid NOT NULL,
  hold_id uuid NOT NULL,
  kept_at bigint NOT NULL,
  bucket integer NOT NULL,
  content_type text NOT NULL,
  body bytea NOT NULL,
  CONSTRAINT kept_answer_pkey PRIMARY KEY (bucket, account_id, hold_id)
);

-- Creators of keys, as the console names them.
CREATE TABLE key_member (
  account_id uuid NOT NULL,
  budget_id uuid NOT NULL,
  member uuid NOT NULL,
  CONSTRAINT key_member_pkey PRIMARY KEY (account_id, budget_id)
);

-- All buckets. Statements of a distributed ledger find the shard of a bucket by it.
CREATE TABLE ledger_bucket (
  bucket integer NOT NULL,
  CONSTRAINT ledger_bucket_bucket_check CHECK (bucket >= 0 AND bucket <= 255),
  CONSTRAINT ledger_bucket_pkey PRIMARY KEY (bucket)
);

-- Kinds of the models of images and videos, as media-generation names them. All other models are of texts.
CREATE TABLE model_kind (
  model text NOT NULL,
  kind text NOT NULL,
  CONSTRAINT model_kind_kind_check CHECK (kind = ANY (ARRAY['image'::text, 'video'::text])),
  CONSTRAINT model_kind_pkey PRIMARY KEY (model)
);

-- Positions as in step_cursor, in the transactions of a node of Citus.
CREATE TABLE node_cursor (
  bucket integer NOT NULL,
  node integer NOT NULL /* Group of the node plus one. The PostgreSQL of before the distribution is node 0, and has its positions in step_cursor. */,
  reader text NOT NULL,
  seen pg_snapshot NOT NULL,
  CONSTRAINT node_cursor_bucket_check CHECK (bucket >= 0 AND bucket <= 255),
  CONSTRAINT node_cursor_node_check CHECK (node > 0),
  CONSTRAINT node_cursor_pkey PRIMARY KEY (bucket, reader, node)
) WITH (fillfactor=50);

-- Candidates for resolvers and lists. The steps decide whether a hold is open.
CREATE TABLE open_hold (
  account_id uuid NOT NULL,
  hold_id uuid NOT NULL,
  place_seq bigint NOT NULL,
  placed_at bigint NOT NULL,
  deadline_at bigint NOT NULL,
  leased_until bigint NOT NULL,
  bucket integer NOT NULL,
  service text NOT NULL,
  CONSTRAINT open_hold_pkey PRIMARY KEY (bucket, account_id, place_seq)
) WITH (fillfactor=70);

-- Prompts and answers of text requests, for keys that save them. Rows are deleted after their retention.
CREATE TABLE saved_text (
  account_id uuid NOT NULL,
  id uuid NOT NULL /* Id of the request. */,
  spender_id uuid NOT NULL,
  began_at timestamp with time zone NOT NULL,
  prompt bytea /* Body of the request, JSON; null if it is too long. */,
  answer bytea /* Answer, JSON; null without an answer, or if it is too long. */,
  prompt_bytes bigint NOT NULL /* Bytes of the body, also of one that is too long. */,
  answer_bytes bigint NOT NULL,
  stored_bytes bigint NOT NULL /* Share of the row in the bytes of its account. */,
  CONSTRAINT saved_text_pkey PRIMARY KEY (account_id, id)
);

-- Entries and bytes of saved texts of each account: the sums over saved_text.
CREATE TABLE saved_text_use (
  account_id uuid NOT NULL,
  entries bigint NOT NULL,
  bytes bigint NOT NULL,
  CONSTRAINT saved_text_use_pkey PRIMARY KEY (account_id)
);

-- Closed months of accounts with steps. The hash of a seal covers the steps of its month and the seal before.
CREATE TABLE seal (
  account_id uuid NOT NULL,
  ends_at bigint NOT NULL /* Unix milliseconds of the end of the month, in UTC. */,
  first_seq bigint NOT NULL,
  last_seq bigint NOT NULL,
  last_at bigint NOT NULL,
  day_seq bigint NOT NULL /* Number of the latest step that was a day or more before the end. */,
  credited bigint NOT NULL,
  debited bigint NOT NULL,
  held bigint NOT NULL,
  holds bigint NOT NULL /* Holds that were placed up to the end, of all months. */,
  bucket integer NOT NULL,
  charged_cost numeric NOT NULL /* Pico, of all months up to the end. */,
  lost_cost numeric NOT NULL /* Pico, of all months up to the end. */,
  content text NOT NULL /* JSON: the budgets with the totals of their latest window and of windows with open holds, and the open holds. */,
  lines_hash bytea NOT NULL /* Digest of the columns that a statement shows. */,
  records_hash bytea NOT NULL /* Digest of the other columns. */,
  previous_hash bytea,
  hash bytea NOT NULL,
  CONSTRAINT seal_check CHECK (last_seq >= first_seq),
  CONSTRAINT seal_hash_check CHECK (octet_length(hash) = 32),
  CONSTRAINT seal_pkey PRIMARY KEY (bucket, account_id, ends_at)
);

-- Months up to ends_at are sealed in this bucket.
CREATE TABLE seal_progress (
  bucket integer NOT NULL,
  ends_at bigint NOT NULL,
  target bigint /* ends_at after the running pass over the bucket; null between two passes. */,
  account_id uuid /* Latest account that the pass over the bucket has reached; null between two passes. */,
  CONSTRAINT seal_progress_bucket_check CHECK (bucket >= 0 AND bucket <= 255),
  CONSTRAINT seal_progress_pkey PRIMARY KEY (bucket)
);

-- What may spend: one row per API key, with its cap, its window and its running totals.
CREATE TABLE spender (
  id uuid NOT NULL,
  account_id uuid NOT NULL,
  name text NOT NULL,
  cap bigint /* Most credits per window; null = no cap. */,
  period spend_period NOT NULL,
  expires_at timestamp with time zone,
  active boolean NOT NULL,
  created_at timestamp with time zone NOT NULL,
  window_no integer NOT NULL DEFAULT 0 /* Counts windows. A hold and its charge belong to the window it was placed in. */,
  window_start timestamp with time zone /* Null for lifetime, and until the first hold after a change of period. */,
  window_used bigint NOT NULL DEFAULT 0,
  window_held bigint NOT NULL DEFAULT 0,
  used bigint NOT NULL DEFAULT 0 /* Charges of its whole life. */,
  requests bigint NOT NULL DEFAULT 0 /* Captured holds of its whole life. */,
  revision bigint NOT NULL DEFAULT 0 /* Counts its changes; a write with a lower one is ignored. */,
  CONSTRAINT spender_account_id_fkey FOREIGN KEY (account_id) REFERENCES account(id),
  CONSTRAINT spender_pkey PRIMARY KEY (id)
) WITH (fillfactor=50);

-- The ledger: one row for each change of an account, with the totals after it. Rows are never changed.
CREATE TABLE step (
  tx bigint NOT NULL /* Transaction of the row. Readers of new rows stop below pg_snapshot_xmin, so they read each row once. */,
  account_id uuid NOT NULL,
  id uuid NOT NULL /* Hold, deposit, adjustment or budget; otherwise the account. */,
  seq bigint NOT NULL /* Number within the account, from 1 without a gap. */,
  at bigint NOT NULL /* Unix milliseconds; never before the row before. */,
  credits bigint NOT NULL /* Change of held; for deposit, refund and adjustment the change of credited. */,
  charge bigint NOT NULL,
  cost bigint NOT NULL /* Pico that this row books, to the provider in billed_by. */,
  place_seq bigint /* seq of the place of the hold. */,
  deadline_at bigint,
  credited bigint NOT NULL /* Total of the account after the row: deposits less refunds, plus adjustments. */,
  debited bigint NOT NULL /* Total of the account after the row: charges. */,
  held bigint NOT NULL /* Total of the account after the row: credits of open holds. */,
  used1 bigint /* Charges of budget1 in window1 after the row. Budgets are numbered from the lowest up. */,
  held1 bigint /* Open holds of budget1 in window1 after the row. */,
  used2 bigint,
  held2 bigint,
  used3 bigint,
  held3 bigint,
  used4 bigint,
  held4 bigint,
  bucket integer NOT NULL,
  budget1 integer,
  window1 integer /* Window of budget1 in which the hold was admitted. */,
  budget2 integer,
  window2 integer,
  budget3 integer,
  window3 integer,
  budget4 integer,
  window4 integer,
  attempt integer NOT NULL,
  kind smallint NOT NULL /* STEP_KINDS of packages/ledger. */,
  billed_by text,
  service text,
  provider text,
  upstream_model text,
  model text,
  price_version text,
  claim bytea /* Digest of the Idempotency-Key that the place claims. */,
  detail text /* JSON of the rare kinds: definition of a budget, suspension, amounts of a kept answer. */,
  CONSTRAINT step_is_sound CHECK (bucket = get_byte(uuid_send(account_id), 15) AND LEAST(charge, cost, debited - charge, held, used1, held1, used2, held2, used3, held3, used4, held4) >= 0 AND (charge = 0 OR kind = 5 AND charge <= (- credits) OR kind = 16) AND (kind > 3 OR credits <= 0 OR (credited - debited) >= held OR kind = 2 AND detail IS NOT NULL) AND COALESCE(place_seq, 0::bigint) < seq AND ((place_seq IS NULL) = (kind <= 2 OR kind >= 11) OR kind = 8 AND place_seq IS NULL)),
  CONSTRAINT step_pkey PRIMARY KEY (bucket, account_id, seq)
);

-- The position of a reader: it has applied the steps of all transactions that are visible in the snapshot.
CREATE TABLE step_cursor (
  bucket integer NOT NULL,
  reader text NOT NULL,
  seen pg_snapshot NOT NULL,
  CONSTRAINT step_cursor_bucket_check CHECK (bucket >= 0 AND bucket <= 255),
  CONSTRAINT step_cursor_pkey PRIMARY KEY (bucket, reader)
) WITH (fillfactor=50);

-- Tokens of text requests by the UTC hour and the UTC day of their end. The statement that stores their lines fills it.
CREATE TABLE text_activity (
  account_id uuid NOT NULL,
  budget_id uuid NOT NULL,
  begins_at bigint NOT NULL,
  input_tokens bigint NOT NULL,
  output_tokens bigint NOT NULL,
  bucket integer NOT NULL,
  hours smallint NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  first_token integer[] NOT NULL /* Streams by the step of the time to the first byte. */,
  CONSTRAINT text_activity_hours_check CHECK (hours = ANY (ARRAY[1, 24])),
  CONSTRAINT text_activity_pkey PRIMARY KEY (bucket, account_id, hours, begins_at, budget_id, model, provider)
) WITH (fillfactor=50);

-- Text requests that are over. No money depends on it. Each partition has one line of an id: id and begin identify a line.
CREATE TABLE text_line (
  id uuid NOT NULL /* Also of its hold, which has the charge. */,
  account_id uuid NOT NULL,
  spender_id uuid NOT NULL,
  model text NOT NULL,
  api text NOT NULL,
  stream boolean NOT NULL,
  began_at timestamp with time zone NOT NULL,
  took_ms integer NOT NULL,
  first_byte_ms integer,
  finish_reason text NOT NULL,
  user_tag text NOT NULL,
  usage json,
  attempts json NOT NULL,
  error_reason text NOT NULL /* Empty, as its message is, if the client got no error. */,
  error_message text NOT NULL
) PARTITION BY RANGE (began_at);

-- The first partition of text_line: lines of before the first month with a partition of its own.
CREATE TABLE text_request (
  id uuid NOT NULL /* Also of its hold, which says what it cost. */,
  account_id uuid NOT NULL,
  spender_id uuid NOT NULL,
  model text NOT NULL,
  api text NOT NULL,
  stream boolean NOT NULL,
  began_at timestamp with time zone NOT NULL,
  took_ms integer NOT NULL,
  first_byte_ms integer,
  finish_reason text NOT NULL,
  user_tag text NOT NULL,
  usage json,
  attempts json NOT NULL,
  error_reason text NOT NULL /* Empty, as its message is, when its caller was told no error. */,
  error_message text NOT NULL,
  CONSTRAINT text_request_pkey PRIMARY KEY (id)
);
ALTER TABLE text_line ATTACH PARTITION text_request FOR VALUES FROM (MINVALUE) TO (MAXVALUE);

-- Accounts whose lines of the log of text requests are not kept as long as the installation's.
CREATE TABLE text_retention (
  account_id uuid NOT NULL,
  days integer NOT NULL,
  changed_at timestamp with time zone NOT NULL DEFAULT now(),
  CONSTRAINT text_retention_days_check CHECK (days >= 0 AND days <= 36500),
  CONSTRAINT text_retention_pkey PRIMARY KEY (account_id)
);

-- Charges by the UTC day of their capture.
CREATE TABLE usage_by_day (
  account_id uuid NOT NULL,
  budget_id uuid NOT NULL /* The lowest budget of the chain. */,
  requests bigint NOT NULL,
  charge bigint NOT NULL,
  day date NOT NULL,
  bucket integer NOT NULL,
  model text NOT NULL,
  provider text NOT NULL,
  cost numeric NOT NULL,
  CONSTRAINT usage_by_day_pkey PRIMARY KEY (bucket, account_id, day, budget_id, model, provider)
) WITH (fillfactor=50);

-- Charges by the UTC day of their capture.
CREATE TABLE usage_daily (
  account_id uuid NOT NULL,
  day date NOT NULL,
  spender_id uuid NOT NULL,
  model text NOT NULL,
  requests bigint NOT NULL,
  charge bigint NOT NULL,
  cost numeric NOT NULL,
  provider text NOT NULL DEFAULT ''::text /* Who was paid for it; empty for what was counted before 0003. */,
  CONSTRAINT usage_daily_pkey PRIMARY KEY (account_id, day, spender_id, model, provider)
) WITH (fillfactor=50);

CREATE INDEX adjustment_of_account ON adjustment USING btree (account_id);

CREATE INDEX claim_age ON claim USING btree (claimed_at);

CREATE INDEX entry_at ON entry USING brin (at);

CREATE INDEX entry_of_account ON entry USING btree (account_id, id) WHERE kind = ANY (ARRAY['deposit'::entry_kind, 'refund'::entry_kind, 'adjustment'::entry_kind, 'charge'::entry_kind]);

CREATE INDEX hold_of_account ON hold USING btree (account_id, placed_at, id) WHERE state <> 'open'::hold_state;

CREATE INDEX hold_open ON hold USING btree (service, deadline_at) WHERE state = 'open'::hold_state;

CREATE INDEX idempotency_claimed_at ON idempotency USING btree (claimed_at);

CREATE INDEX kept_answer_age ON kept_answer USING btree (kept_at);

CREATE INDEX open_hold_due ON open_hold USING btree (service, deadline_at);

CREATE INDEX open_hold_in_order ON open_hold USING btree (placed_at, hold_id);

CREATE INDEX saved_text_by_time ON saved_text USING btree (account_id, began_at);

CREATE INDEX saved_text_of_spender ON saved_text USING btree (account_id, spender_id);

CREATE INDEX spender_in_order ON spender USING btree (account_id, created_at, id);

CREATE INDEX step_credit ON step USING btree (bucket, account_id, seq) WHERE kind = ANY (ARRAY[11, 12, 13]);

CREATE INDEX step_late ON step USING btree (bucket, id) WHERE kind = 8;

CREATE INDEX step_tx ON step USING btree (tx);

CREATE INDEX text_line_of_account ON ONLY text_line USING btree (account_id, began_at, id);

CREATE INDEX text_line_of_model ON ONLY text_line USING btree (account_id, model, began_at, id);

CREATE INDEX text_line_of_provider ON ONLY text_line USING btree (account_id, ((attempts -> '-1'::integer) ->> 'provider'::text), began_at, id);

CREATE INDEX text_line_of_spender ON ONLY text_line USING btree (spender_id, began_at, id);

CREATE INDEX text_request_of_account ON text_request USING btree (account_id, began_at, id);

CREATE INDEX text_request_of_model ON text_request USING btree (account_id, model, began_at, id);

CREATE INDEX text_request_of_provider ON text_request USING btree (account_id, ((attempts -> '-1'::integer) ->> 'provider'::text), began_at, id);

CREATE INDEX text_request_of_spender ON text_request USING btree (spender_id, began_at, id);

CREATE INDEX usage_of_budget ON usage_by_day USING btree (bucket, account_id, budget_id, day);

CREATE INDEX usage_of_spender ON usage_daily USING btree (spender_id, day);

CREATE UNIQUE INDEX entry_of_adjustment ON entry USING btree (adjustment_id) WHERE adjustment_id IS NOT NULL;

CREATE UNIQUE INDEX entry_of_deposit ON entry USING btree (deposit_id, kind) WHERE deposit_id IS NOT NULL;

CREATE UNIQUE INDEX entry_of_hold ON entry USING btree (hold_id, attempt, kind, (
CASE
    WHEN kind = 'late'::entry_kind THEN id
    ELSE 0::bigint
END)) WHERE hold_id IS NOT NULL;

CREATE UNIQUE INDEX step_beginning ON step USING btree (bucket, id, kind) WHERE kind = ANY (ARRAY[2, 11, 12, 13]);

-- cash, cust:<account>, revenue in credits; cogs:<provider>, cogs:failed, cogs:late, payable:<provider> in pico.
CREATE VIEW posting AS
 SELECT e.id AS entry_id,
    e.at,
    e.kind,
    side.ledger,
    side.name AS account,
    side.debit,
    side.credit
   FROM entry e
     CROSS JOIN LATERAL ( VALUES ('credits'::text,
                CASE e.kind
                    WHEN 'deposit'::entry_kind THEN 'cash'::text
                    WHEN 'adjustment'::entry_kind THEN 'revenue'::text
                    ELSE 'cust:'::text || e.account_id
                END,e.credits,0::bigint), ('credits'::text,
                CASE e.kind
                    WHEN 'charge'::entry_kind THEN 'revenue'::text
                    WHEN 'refund'::entry_kind THEN 'cash'::text
                    ELSE 'cust:'::text || e.account_id
                END,0::bigint,e.credits), ('cost'::text,'cogs:'::text ||
                CASE e.kind
                    WHEN 'charge'::entry_kind THEN e.provider
                    ELSE e.kind::text
                END,e.cost,0::bigint), ('cost'::text,'payable:'::text || e.provider,0::bigint,e.cost)) side(ledger, name, debit, credit)
  WHERE side.debit <> 0 OR side.credit <> 0;

CREATE OR REPLACE FUNCTION billing.refuse_change()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION '% on %.% is refused: the journal is append-only', tg_op, tg_table_schema, tg_table_name
    USING ERRCODE = 'insufficient_privilege';
END $function$;

CREATE OR REPLACE FUNCTION billing.refuse_earlier_version()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
  RAISE EXCEPTION 'A newer version of billing has carried the accounts into the chain of steps; this version writes no more'
    USING ERRCODE = 'serialization_failure';
END $function$;

CREATE TRIGGER account_is_carried BEFORE INSERT OR DELETE OR UPDATE ON account FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();

CREATE TRIGGER adjustment_is_carried BEFORE INSERT OR DELETE OR UPDATE ON adjustment FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();

CREATE TRIGGER claim_is_carried BEFORE INSERT OR UPDATE ON idempotency FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();

CREATE TRIGGER deposit_is_carried BEFORE INSERT OR DELETE OR UPDATE ON deposit FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();

CREATE TRIGGER entry_is_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TRIGGER entry_is_carried BEFORE INSERT ON entry FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();

CREATE TRIGGER hold_is_carried BEFORE INSERT OR DELETE OR UPDATE ON hold FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();

CREATE TRIGGER spender_is_carried BEFORE INSERT OR DELETE OR UPDATE ON spender FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();

CREATE TRIGGER usage_is_carried BEFORE INSERT OR DELETE OR UPDATE ON usage_daily FOR EACH STATEMENT EXECUTE FUNCTION refuse_earlier_version();
