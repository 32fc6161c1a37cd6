-- The last comparison of each provider's statement with the books. A process claims the next comparison by moving due_at.
CREATE TABLE statement_comparison (
  statement text PRIMARY KEY,
  due_at    timestamptz NOT NULL,
  result    jsonb,
  problem   text
);

COMMENT ON TABLE statement_comparison IS 'The last daily comparison of each provider''s statement with the books.';
COMMENT ON COLUMN statement_comparison.due_at IS 'When the next process compares; moved on at the start of each comparison.';
COMMENT ON COLUMN statement_comparison.result IS 'A StatementComparison as JSON; null until the first.';
COMMENT ON COLUMN statement_comparison.problem IS 'Why the last try read no statement; null after a comparison.';
