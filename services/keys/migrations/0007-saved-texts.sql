-- True: prompts and answers of text requests with this key are saved.
ALTER TABLE api_key ADD COLUMN saves_texts boolean NOT NULL DEFAULT false;
