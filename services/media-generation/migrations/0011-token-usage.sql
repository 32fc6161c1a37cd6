-- Tokens as the provider counted them: { "input", "output", "image_input" }. Null if the provider counts none.
ALTER TABLE generation ADD COLUMN tokens jsonb;
