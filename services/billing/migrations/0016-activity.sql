-- Activity by the hour and by the day, for charts and tables of an account. No decision about money reads it, and the removal of
-- log lines does not change it. A duration counts in one of 30 steps, so sums of any rows have a median.

CREATE TABLE activity (
  account_id uuid NOT NULL,
  budget_id  uuid NOT NULL,
  begins_at  bigint NOT NULL,
  requests   bigint NOT NULL,
  errors     bigint NOT NULL,
  charge     bigint NOT NULL,
  bucket     integer NOT NULL,
  hours      smallint NOT NULL CHECK (hours IN (1, 24)),
  service    text NOT NULL,
  model      text NOT NULL,
  provider   text NOT NULL,
  latency    integer[] NOT NULL,
  PRIMARY KEY (bucket, account_id, hours, begins_at, budget_id, model, provider, service)
) WITH (fillfactor = 50);
COMMENT ON TABLE activity IS 'Ended requests by the UTC hour and the UTC day of their end, from committed steps. The follower of usage_by_day fills both.';
COMMENT ON COLUMN activity.budget_id IS 'The lowest budget of the chain.';
COMMENT ON COLUMN activity.service IS 'Service of the holds. Empty: days of before the chain of steps.';
COMMENT ON COLUMN activity.begins_at IS 'Unix milliseconds.';
COMMENT ON COLUMN activity.requests IS 'All ended requests.';
COMMENT ON COLUMN activity.errors IS 'The requests among them that ended without a charge: failed, blocked or cancelled.';
COMMENT ON COLUMN activity.latency IS 'Charged requests by the step of the time from the hold to the charge.';

CREATE TABLE text_activity (
  account_id    uuid NOT NULL,
  budget_id     uuid NOT NULL,
  begins_at     bigint NOT NULL,
  input_tokens  bigint NOT NULL,
  output_tokens bigint NOT NULL,
  bucket        integer NOT NULL,
  hours         smallint NOT NULL CHECK (hours IN (1, 24)),
  model         text NOT NULL,
  provider      text NOT NULL,
  first_token   integer[] NOT NULL,
  PRIMARY KEY (bucket, account_id, hours, begins_at, budget_id, model, provider)
) WITH (fillfactor = 50);
COMMENT ON TABLE text_activity IS 'Tokens of text requests by the UTC hour and the UTC day of their end. The statement that stores their lines fills it.';
COMMENT ON COLUMN text_activity.first_token IS 'Streams by the step of the time to the first byte.';

CREATE TABLE model_kind (
  model text PRIMARY KEY,
  kind  text NOT NULL CHECK (kind IN ('image', 'video'))
);
COMMENT ON TABLE model_kind IS 'Kinds of the models of images and videos, as media-generation names them. All other models are of texts.';

CREATE TABLE key_member (
  account_id uuid NOT NULL,
  budget_id  uuid NOT NULL,
  member     uuid NOT NULL,
  PRIMARY KEY (account_id, budget_id)
);
COMMENT ON TABLE key_member IS 'Creators of keys, as the console names them.';

-- Days of before: spend and charged requests. They have no hours, no errors and no times.
INSERT INTO activity (bucket, account_id, hours, begins_at, budget_id, model, provider, service, requests, errors, charge, latency)
  SELECT get_byte(uuid_send(account_id), 15), account_id, 24, (extract(epoch FROM day::timestamp AT TIME ZONE 'UTC') * 1000)::bigint,
    spender_id, model, provider, '', requests, 0, charge, array_fill(0, ARRAY[30])
    FROM usage_daily;
