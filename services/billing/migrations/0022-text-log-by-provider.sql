-- The log of a provider, in the order of its pages: of the last attempt.
CREATE INDEX text_request_of_provider ON text_request (account_id, (attempts -> -1 ->> 'provider'), began_at, id);
