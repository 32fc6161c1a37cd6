-- Tables that a follower fills from committed steps: sums for reports, and the open holds. No decision about money reads them.
-- Each bucket has a cursor of its own for each reader, in the same transaction as the rows of that reader.

CREATE TABLE step_cursor (
  bucket integer NOT NULL CHECK (bucket BETWEEN 0 AND 255),
  reader text NOT NULL,
  seen   pg_snapshot NOT NULL,
  PRIMARY KEY (bucket, reader)
) WITH (fillfactor = 50);
INSERT INTO step_cursor (bucket, reader, seen)
  SELECT b, reader, '3:3:' FROM generate_series(0, 255) b, unnest(ARRAY['sums', 'holds']) reader;
COMMENT ON TABLE step_cursor IS 'The position of a reader: it has applied the steps of all transactions that are visible in the snapshot.';

CREATE TABLE budget_number (
  account_id uuid NOT NULL,
  budget_id  uuid NOT NULL,
  bucket     integer NOT NULL,
  budget     integer NOT NULL,
  PRIMARY KEY (bucket, account_id, budget),
  UNIQUE (bucket, account_id, budget_id)
);
COMMENT ON TABLE budget_number IS 'Ids of the budgets that steps name by number.';

CREATE TABLE usage_by_day (
  account_id uuid NOT NULL,
  budget_id  uuid NOT NULL,
  requests   bigint NOT NULL,
  charge     bigint NOT NULL,
  day        date NOT NULL,
  bucket     integer NOT NULL,
  model      text NOT NULL,
  provider   text NOT NULL,
  cost       numeric NOT NULL,
  PRIMARY KEY (bucket, account_id, day, budget_id, model, provider)
) WITH (fillfactor = 50);
CREATE INDEX usage_of_budget ON usage_by_day (bucket, account_id, budget_id, day);
COMMENT ON TABLE usage_by_day IS 'Charges by the UTC day of their capture.';
COMMENT ON COLUMN usage_by_day.budget_id IS 'The lowest budget of the chain.';

CREATE TABLE cost_by_day (
  bookings       bigint NOT NULL,
  day            date NOT NULL,
  bucket         integer NOT NULL,
  provider       text NOT NULL,
  upstream_model text NOT NULL,
  cost           numeric NOT NULL,
  PRIMARY KEY (bucket, day, provider, upstream_model)
) WITH (fillfactor = 50);
COMMENT ON TABLE cost_by_day IS 'Costs of all accounts of a bucket by the UTC day of their booking, in pico.';
COMMENT ON COLUMN cost_by_day.upstream_model IS 'Empty for an attempt that another attempt of the same request followed.';

CREATE TABLE open_hold (
  account_id   uuid NOT NULL,
  hold_id      uuid NOT NULL,
  place_seq    bigint NOT NULL,
  placed_at    bigint NOT NULL,
  deadline_at  bigint NOT NULL,
  leased_until bigint NOT NULL,
  bucket       integer NOT NULL,
  service      text NOT NULL,
  PRIMARY KEY (bucket, account_id, place_seq)
) WITH (fillfactor = 70);
CREATE INDEX open_hold_due ON open_hold (service, deadline_at);
COMMENT ON TABLE open_hold IS 'Candidates for resolvers and lists. The steps decide whether a hold is open.';

CREATE TABLE deposit_report (
  account_id uuid NOT NULL,
  id         uuid NOT NULL,
  credits    bigint NOT NULL CHECK (credits > 0),
  created_at bigint NOT NULL,
  changed_at bigint NOT NULL,
  bucket     integer NOT NULL,
  status     deposit_status NOT NULL,
  source     text NOT NULL,
  PRIMARY KEY (bucket, id)
);
COMMENT ON TABLE deposit_report IS 'Reports of payments. A deposit or refund counts by its step alone.';

-- No installation has written a state before this column.
ALTER TABLE account_state ADD COLUMN adjusted bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN account_state.adjusted IS 'The adjustments in credited.';
-- Followers search the newest transactions. A BRIN index has no summary of the newest pages before the next autovacuum, so a round
-- would read all rows of a minute. The entries of one flush share one entry of this index.
DROP INDEX step_tx;
CREATE INDEX step_tx ON step (tx);

-- Pages of deposits, refunds and adjustments, also of an account with millions of charges between them.
CREATE INDEX step_credit ON step (bucket, account_id, seq) WHERE kind IN (11, 12, 13);
