-- Accounts whose lines of the log of text requests are not kept as long as the installation's.
CREATE TABLE text_retention (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  -- 0: none is kept.
  days       integer NOT NULL CHECK (days BETWEEN 0 AND 36500),
  changed_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON TABLE text_retention IS 'Accounts whose lines of the log of text requests are not kept as long as the installation''s.';
