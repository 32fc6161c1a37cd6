-- The response_format of image and video requests without one: of a key, else of its account, else url.
ALTER TABLE account ADD COLUMN response_format text CHECK (response_format IN ('url', 'b64_json', 'b64_ephemeral'));
ALTER TABLE api_key ADD COLUMN response_format text CHECK (response_format IN ('url', 'b64_json', 'b64_ephemeral'));
