-- The console keeps a copy of each account of the keys service. The copy is complete up to this time.
CREATE TABLE account_copy (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  complete_until timestamptz NOT NULL
);

COMMENT ON TABLE account_copy IS 'One row: the console has a copy of each account that was created before complete_until.';

INSERT INTO account_copy (complete_until) VALUES ('epoch');
