-- Reports of the processes with paid requests: states of routes, and the ends of attempts.
CREATE TABLE process_report (
  process_id uuid PRIMARY KEY,
  service text NOT NULL,
  number bigint NOT NULL CHECK (number > 0),
  reported_at timestamptz NOT NULL,
  states jsonb NOT NULL
);
COMMENT ON TABLE process_report IS 'The last report of each process.';
COMMENT ON COLUMN process_report.number IS 'Number of the report in its process; a lower one changes nothing.';
COMMENT ON COLUMN process_report.states IS 'Routes that are not usual; amounts and instants as text.';

CREATE TABLE attempt_window (
  provider text NOT NULL,
  begins_at timestamptz NOT NULL,
  delivered bigint NOT NULL,
  failed bigint NOT NULL,
  refused bigint NOT NULL,
  took_counts bigint[] NOT NULL,
  PRIMARY KEY (provider, begins_at)
);
COMMENT ON TABLE attempt_window IS 'Ends of attempts at a provider within five minutes, of all processes.';
COMMENT ON COLUMN attempt_window.took_counts IS 'Delivered attempts by duration, in half octaves from 100 ms.';
CREATE INDEX attempt_window_begins_at ON attempt_window (begins_at);
