-- Who runs the router. It is no role of an account: an owner of every account would still be none.
CREATE TABLE operator (
  person_id uuid PRIMARY KEY REFERENCES person ON DELETE CASCADE,
  added_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX account_newest ON account (created_at, id);
CREATE INDEX payment_with_problem ON payment (id) WHERE problem IS NOT NULL;
