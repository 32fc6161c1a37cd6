-- Prompts and answers of text requests, for keys that save them.
CREATE TABLE saved_text (
  account_id   uuid NOT NULL,
  id           uuid NOT NULL,
  spender_id   uuid NOT NULL,
  began_at     timestamptz NOT NULL,
  prompt       bytea,
  answer       bytea,
  prompt_bytes bigint NOT NULL,
  answer_bytes bigint NOT NULL,
  stored_bytes bigint NOT NULL,
  PRIMARY KEY (account_id, id)
);

CREATE INDEX saved_text_of_spender ON saved_text (account_id, spender_id);
CREATE INDEX saved_text_by_time ON saved_text (account_id, began_at);

CREATE TABLE saved_text_use (
  account_id uuid PRIMARY KEY,
  entries    bigint NOT NULL,
  bytes      bigint NOT NULL
);

COMMENT ON TABLE saved_text IS 'Prompts and answers of text requests, for keys that save them. Rows are deleted after their retention.';
COMMENT ON COLUMN saved_text.id IS 'Id of the request.';
COMMENT ON COLUMN saved_text.prompt IS 'Body of the request, JSON; null if it is too long.';
COMMENT ON COLUMN saved_text.answer IS 'Answer, JSON; null without an answer, or if it is too long.';
COMMENT ON COLUMN saved_text.prompt_bytes IS 'Bytes of the body, also of one that is too long.';
COMMENT ON COLUMN saved_text.stored_bytes IS 'Share of the row in the bytes of its account.';
COMMENT ON TABLE saved_text_use IS 'Entries and bytes of saved texts of each account: the sums over saved_text.';
