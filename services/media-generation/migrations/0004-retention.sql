-- How long media are kept. Their files go, the row with its money facts stays.
ALTER TABLE generation
  -- When its files had been kept as long as they were to be.
  ADD COLUMN expired_at timestamptz;

-- What is kept, by how old it is: whoever looks for what is over finds it here, and lists no storage.
CREATE INDEX generation_kept ON generation (account_id, finished_at)
  WHERE state = 'succeeded' AND booked_at IS NOT NULL AND deleted_at IS NULL AND expired_at IS NULL
    AND json_array_length(outputs) > 0;

-- Accounts whose media are not kept as long as the installation's.
CREATE TABLE media_retention (
  account_id uuid PRIMARY KEY,
  -- 0: for ever.
  days       integer NOT NULL CHECK (days BETWEEN 0 AND 36500),
  changed_at timestamptz NOT NULL DEFAULT now()
);

COMMENT ON COLUMN generation.expired_at IS 'when its files had been kept as long as they were to be, and were removed';
COMMENT ON TABLE media_retention IS 'accounts whose media are not kept as long as the installation''s';
