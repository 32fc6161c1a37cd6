-- The last day on which each key of a page was used, without reading what it used before.
CREATE INDEX usage_of_spender ON usage_daily (spender_id, day);
