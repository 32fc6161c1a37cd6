-- Nothing reads it: what is old is found from one account to the next, in the index of the accounts.
DROP INDEX text_request_began_at;
