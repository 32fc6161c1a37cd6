-- Meters of text models that upstreams bill besides those that were known.
ALTER TABLE text_model
  ADD COLUMN image_input_pico_usd bigint CHECK (image_input_pico_usd >= 0),
  ADD COLUMN image_output_pico_usd bigint CHECK (image_output_pico_usd >= 0),
  ADD COLUMN audio_output_pico_usd bigint CHECK (audio_output_pico_usd >= 0),
  ADD COLUMN tools_pico_usd jsonb NOT NULL DEFAULT '{}';
COMMENT ON TABLE text_model IS
  'Rows of the listings. Prices are 1e-12 USD per token; null = billed as input or output.';
COMMENT ON COLUMN text_model.tools_pico_usd IS
  'Per call of a tool that the provider runs, by its type in the output; amounts as text.';
