-- What text requests did, for whoever looks at them later. What they cost is in their holds.
CREATE TABLE text_request (
  id            uuid PRIMARY KEY,
  account_id    uuid NOT NULL,
  spender_id    uuid NOT NULL,
  model         text NOT NULL,
  api           text NOT NULL,
  stream        boolean NOT NULL,
  began_at      timestamptz NOT NULL,
  took_ms       integer NOT NULL,
  first_byte_ms integer,
  finish_reason text NOT NULL,
  user_tag      text NOT NULL,
  usage         json,
  attempts      json NOT NULL,
  error_reason  text NOT NULL,
  error_message text NOT NULL
);

CREATE INDEX text_request_of_account ON text_request (account_id, began_at, id);
CREATE INDEX text_request_of_spender ON text_request (spender_id, began_at, id);
-- Lines come nearly in the order of time: so it is small, and enough to find the old ones.
CREATE INDEX text_request_began_at ON text_request USING brin (began_at);

COMMENT ON TABLE text_request IS 'Text requests that are over. No money depends on it, and its rows go after a time.';
COMMENT ON COLUMN text_request.id IS 'Also of its hold, which says what it cost.';
COMMENT ON COLUMN text_request.error_reason IS 'Empty, as its message is, when its caller was told no error.';
