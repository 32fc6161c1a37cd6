-- Whoever looks for a model that an account has seldom asked for would else read all of its log to the end.
CREATE INDEX generation_of_model ON generation (account_id, model, created_at, id);
