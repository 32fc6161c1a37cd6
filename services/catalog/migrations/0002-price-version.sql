-- Every price that a model was ever offered at, so that a charge of any day can be worked out again.
CREATE TABLE price_version (
  version text NOT NULL,
  model text NOT NULL,
  rule jsonb NOT NULL,
  first_seen_at timestamptz NOT NULL,
  PRIMARY KEY (version, model)
);
COMMENT ON TABLE price_version IS
  'Every price that a model was ever offered at. A version is the hash of its rule; rows are added, never changed.';
COMMENT ON COLUMN price_version.rule IS 'router.catalog.v1.Price as JSON, the version left out. Amounts are 1e-12 USD.';
