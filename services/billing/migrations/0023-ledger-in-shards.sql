-- Two preparations for a ledger that Citus distributes by bucket (decisions 102 and 103). On one PostgreSQL neither is used.

-- An INSERT … SELECT is sent to one worker only if it reads the bucket from a table that is distributed in the same way.
CREATE TABLE ledger_bucket (
  bucket integer PRIMARY KEY CHECK (bucket BETWEEN 0 AND 255)
);
INSERT INTO ledger_bucket (bucket) SELECT generate_series(0, 255);
COMMENT ON TABLE ledger_bucket IS 'All buckets. Statements of a distributed ledger find the shard of a bucket by it.';

-- Each worker counts its own transactions, so a reader has a position for each node that has had the bucket.
CREATE TABLE node_cursor (
  bucket integer NOT NULL CHECK (bucket BETWEEN 0 AND 255),
  node   integer NOT NULL CHECK (node > 0),
  reader text NOT NULL,
  seen   pg_snapshot NOT NULL,
  PRIMARY KEY (bucket, reader, node)
) WITH (fillfactor = 50);
COMMENT ON TABLE node_cursor IS 'Positions as in step_cursor, in the transactions of a node of Citus.';
COMMENT ON COLUMN node_cursor.node IS 'Group of the node plus one. The PostgreSQL of before the distribution is node 0, and has its positions in step_cursor.';
