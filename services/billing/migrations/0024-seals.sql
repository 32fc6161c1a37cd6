-- Closed months of accounts: totals, open windows and open holds at the end of the month, and digests of its steps. Steps stay in
-- their table. A seal is written once; no decision about money reads it.

CREATE TABLE seal (
  account_id    uuid NOT NULL,
  ends_at       bigint NOT NULL,
  first_seq     bigint NOT NULL,
  last_seq      bigint NOT NULL CHECK (last_seq >= first_seq),
  last_at       bigint NOT NULL,
  day_seq       bigint NOT NULL,
  credited      bigint NOT NULL,
  debited       bigint NOT NULL,
  held          bigint NOT NULL,
  holds         bigint NOT NULL,
  bucket        integer NOT NULL,
  charged_cost  numeric NOT NULL,
  lost_cost     numeric NOT NULL,
  content       text NOT NULL,
  lines_hash    bytea NOT NULL,
  records_hash  bytea NOT NULL,
  previous_hash bytea,
  hash          bytea NOT NULL CHECK (octet_length(hash) = 32),
  PRIMARY KEY (bucket, account_id, ends_at)
);
COMMENT ON TABLE seal IS 'Closed months of accounts with steps. The hash of a seal covers the steps of its month and the seal before.';
COMMENT ON COLUMN seal.ends_at IS 'Unix milliseconds of the end of the month, in UTC.';
COMMENT ON COLUMN seal.day_seq IS 'Number of the latest step that was a day or more before the end.';
COMMENT ON COLUMN seal.holds IS 'Holds that were placed up to the end, of all months.';
COMMENT ON COLUMN seal.charged_cost IS 'Pico, of all months up to the end.';
COMMENT ON COLUMN seal.lost_cost IS 'Pico, of all months up to the end.';
COMMENT ON COLUMN seal.content IS 'JSON: the budgets with the totals of their latest window and of windows with open holds, and the open holds.';
COMMENT ON COLUMN seal.lines_hash IS 'Digest of the columns that a statement shows.';
COMMENT ON COLUMN seal.records_hash IS 'Digest of the other columns.';

CREATE TABLE seal_progress (
  bucket     integer PRIMARY KEY CHECK (bucket BETWEEN 0 AND 255),
  ends_at    bigint NOT NULL,
  target     bigint,
  account_id uuid
);
INSERT INTO seal_progress (bucket, ends_at) SELECT b, 0 FROM generate_series(0, 255) b;
COMMENT ON TABLE seal_progress IS 'Months up to ends_at are sealed in this bucket.';
COMMENT ON COLUMN seal_progress.target IS 'ends_at after the running pass over the bucket; null between two passes.';
COMMENT ON COLUMN seal_progress.account_id IS 'Latest account that the pass over the bucket has reached; null between two passes.';
