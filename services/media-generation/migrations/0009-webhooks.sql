-- Webhooks: receivers of keys and accounts, signing secrets, and deliveries. The statement that ends a job inserts its
-- delivery, so a crash loses none.
ALTER TABLE generation
  -- Address that receives the end of the job.
  ADD COLUMN callback_url text;

-- Default addresses, for requests without an address of their own.
CREATE TABLE webhook_receiver (
  account_id uuid NOT NULL,
  -- An API key; empty: all keys of the account without a default of their own, and events of the account.
  key_id     text NOT NULL,
  url        text NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, key_id)
);

CREATE TABLE webhook_secret (
  account_id uuid NOT NULL,
  secret     bytea NOT NULL,
  created_at timestamptz NOT NULL,
  -- End of its signatures, set by a rotation; null: the newest secret.
  expires_at timestamptz
);

CREATE UNIQUE INDEX webhook_secret_newest ON webhook_secret (account_id) WHERE expires_at IS NULL;
CREATE INDEX webhook_secret_of_account ON webhook_secret (account_id);

-- Log of deliveries, and work list of their sender.
CREATE TABLE webhook_delivery (
  -- Also the id of its event; of the end of a job, the id of the job.
  id              uuid PRIMARY KEY,
  account_id      uuid NOT NULL,
  -- Key of the job; empty: an event of the account.
  key_id          text NOT NULL,
  url             text NOT NULL,
  -- Scheme, host and port of the address.
  receiver        text NOT NULL GENERATED ALWAYS AS (coalesce(substring(url from '^[a-z]+://[^/?#]*'), url)) STORED,
  type            text NOT NULL,
  data            json NOT NULL,
  state           text NOT NULL CHECK (state IN ('pending', 'delivered', 'failed')),
  -- Ended attempts since started_at.
  attempts        integer NOT NULL DEFAULT 0,
  -- Begin of the 24 h of attempts: its creation, or its last redelivery.
  started_at      timestamptz NOT NULL DEFAULT now(),
  -- Time of the next attempt; during an attempt, time from which another process may repeat it.
  due_at          timestamptz NOT NULL DEFAULT now(),
  last_attempt_at timestamptz,
  last_status     integer,
  last_error      text,
  created_at      timestamptz NOT NULL DEFAULT now(),
  ended_at        timestamptz,
  CHECK ((state = 'pending') = (ended_at IS NULL))
);

CREATE INDEX webhook_delivery_due ON webhook_delivery (due_at) WHERE state = 'pending';
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (account_id) WHERE state = 'pending';
CREATE INDEX webhook_delivery_ended ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX webhook_delivery_of_account ON webhook_delivery (account_id, created_at, id);

COMMENT ON COLUMN generation.callback_url IS 'address that receives the end of the job';
COMMENT ON TABLE webhook_receiver IS 'default addresses of webhooks, of a key or of an account';
COMMENT ON TABLE webhook_secret IS 'signing secrets of accounts: two during a rotation';
COMMENT ON TABLE webhook_delivery IS 'log of deliveries, and work list of their sender';
COMMENT ON COLUMN webhook_delivery.due_at IS 'next attempt; during an attempt, when another process may repeat it';
