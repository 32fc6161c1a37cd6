-- Whoever looks for what failed, among much that did not, would else read all of its log.
CREATE INDEX generation_failed ON generation (account_id, created_at, id) WHERE state IN ('failed', 'blocked', 'unknown');
