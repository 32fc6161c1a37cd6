-- The videos of a key, which may be few among many images.
CREATE INDEX generation_videos ON generation (account_id, key_id, created_at, id) WHERE kind = 'video';
