-- The list of accounts is read in the order of their creation, in pages.
CREATE INDEX account_oldest ON account (created_at, id);
