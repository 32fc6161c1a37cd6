-- Spenders of an account are listed oldest first, a page at a time.
CREATE INDEX spender_in_order ON spender (account_id, created_at, id);
DROP INDEX spender_of_account;
