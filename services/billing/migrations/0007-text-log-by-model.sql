-- A page of one model is found however rare that model is.
CREATE INDEX text_request_of_model ON text_request (account_id, model, began_at, id);
