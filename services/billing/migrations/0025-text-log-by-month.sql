-- Lines of the log of text requests in partitions by month of their begin. `text_request` is the first partition: at first it has all
-- times, and billing ends it with a later month (`src/text-log/text-months-store.ts`, decision 104).
-- A version before this migration writes and reads `text_request` as before, because it keeps its name, its key and its indexes.
-- ATTACH reads no row: `began_at` is never null, and the bounds exclude nothing else. It finds the four indexes and builds none. So
-- `text_request` is locked until the commit of this migration, for some milliseconds.
CREATE TABLE text_line (LIKE text_request) PARTITION BY RANGE (began_at);

CREATE INDEX text_line_of_account ON text_line (account_id, began_at, id);
CREATE INDEX text_line_of_spender ON text_line (spender_id, began_at, id);
CREATE INDEX text_line_of_model ON text_line (account_id, model, began_at, id);
CREATE INDEX text_line_of_provider ON text_line (account_id, (attempts -> -1 ->> 'provider'), began_at, id);

ALTER TABLE text_line ATTACH PARTITION text_request FOR VALUES FROM (MINVALUE) TO (MAXVALUE);

COMMENT ON TABLE text_line IS 'Text requests that are over. No money depends on it. Each partition has one line of an id: id and begin identify a line.';
COMMENT ON COLUMN text_line.id IS 'Also of its hold, which has the charge.';
COMMENT ON COLUMN text_line.error_reason IS 'Empty, as its message is, if the client got no error.';
COMMENT ON TABLE text_request IS 'The first partition of text_line: lines of before the first month with a partition of its own.';
