-- Alert settings of accounts, the crossings that were reported, and the alerts with their deliveries.
CREATE TABLE alert_setting (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  low_balance_credits bigint CHECK (low_balance_credits > 0),
  budget_percents integer[] NOT NULL DEFAULT '{}',
  failure_percent integer CHECK (failure_percent BETWEEN 1 AND 100),
  by_mail boolean NOT NULL DEFAULT false,
  webhook_url text,
  due_at timestamptz NOT NULL,
  -- Counts the checks that were begun.
  claim bigint NOT NULL DEFAULT 0
);
COMMENT ON COLUMN alert_setting.due_at IS 'Next check. A process that checks the account has moved it ahead.';
COMMENT ON COLUMN alert_setting.claim IS 'A check stores its result only while it has the newest claim.';
CREATE INDEX alert_setting_due ON alert_setting (due_at);

CREATE TABLE alert_crossing (
  account_id uuid NOT NULL REFERENCES account (id),
  kind text NOT NULL CHECK (kind IN ('low_balance', 'budget', 'failure_rate')),
  -- A key; empty = the account.
  subject text NOT NULL,
  percent integer NOT NULL,
  period text NOT NULL,
  crossed_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, kind, subject, percent)
);
COMMENT ON TABLE alert_crossing IS 'A threshold that is crossed and reported; without its row, the next crossing is reported.';

CREATE TABLE alert (
  ordinal bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  id uuid NOT NULL UNIQUE,
  account_id uuid NOT NULL REFERENCES account (id),
  kind text NOT NULL CHECK (kind IN ('low_balance', 'budget', 'failure_rate', 'test')),
  at timestamptz NOT NULL,
  facts jsonb NOT NULL,
  mail text NOT NULL CHECK (mail IN ('none', 'pending', 'sent', 'limited', 'failed')),
  mail_due_at timestamptz,
  mail_tries integer NOT NULL DEFAULT 0,
  webhook text NOT NULL CHECK (webhook IN ('none', 'pending', 'sent', 'refused', 'failed')),
  webhook_url text,
  webhook_due_at timestamptz,
  webhook_tries integer NOT NULL DEFAULT 0
);
CREATE INDEX alert_of_account ON alert (account_id, ordinal DESC);
CREATE INDEX alert_mail_due ON alert (mail_due_at) WHERE mail = 'pending';
CREATE INDEX alert_webhook_due ON alert (webhook_due_at) WHERE webhook = 'pending';
CREATE INDEX alert_by_time ON alert (at);
