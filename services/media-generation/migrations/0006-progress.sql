-- How far a job is, where its provider says so.
ALTER TABLE generation
  ADD COLUMN progress smallint CHECK (progress BETWEEN 0 AND 100);

COMMENT ON COLUMN generation.progress IS 'percent that its provider has reported while it ran';
