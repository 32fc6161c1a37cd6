-- Saved cards of accounts, and automatic top-ups that charge them.
CREATE TABLE payer (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  customer_id text NOT NULL UNIQUE,
  setup_session_id text UNIQUE,
  setup_by text,
  setup_checked_at timestamptz,
  payment_method_id text,
  card_brand text,
  card_last4 text,
  card_expires text
);
COMMENT ON TABLE payer IS 'An account as a customer at Stripe, and its saved card.';
COMMENT ON COLUMN payer.setup_session_id IS 'Of the Checkout that saves a card; null = none is open.';
COMMENT ON COLUMN payer.setup_by IS 'E-mail address of the person who opened it.';
COMMENT ON COLUMN payer.card_expires IS 'Month and year as 08/28.';

CREATE TABLE auto_top_up (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  threshold_credits bigint NOT NULL CHECK (threshold_credits > 0),
  amount_credits bigint NOT NULL CHECK (amount_credits >= threshold_credits),
  monthly_limit_credits bigint NOT NULL CHECK (monthly_limit_credits >= amount_credits),
  is_on boolean NOT NULL,
  changed_by text NOT NULL,
  problem text,
  limit_month text,
  report jsonb,
  due_at timestamptz NOT NULL
);
COMMENT ON TABLE auto_top_up IS 'Rule of an account: below the threshold, charge the amount, at most the limit in a month (UTC).';
COMMENT ON COLUMN auto_top_up.changed_by IS 'E-mail address of the person who changed the rule last; receipts are sent there.';
COMMENT ON COLUMN auto_top_up.problem IS 'Reason for which a failed, refunded or disputed charge has switched it off.';
COMMENT ON COLUMN auto_top_up.limit_month IS 'Month as 2026-11 in which the limit was reached and reported.';
COMMENT ON COLUMN auto_top_up.report IS 'Alert that is not stored yet.';
CREATE INDEX auto_top_up_due ON auto_top_up (due_at) WHERE is_on;
CREATE INDEX auto_top_up_report ON auto_top_up (account_id) WHERE report IS NOT NULL;

ALTER TABLE payment ADD COLUMN is_automatic boolean NOT NULL DEFAULT false;
ALTER TABLE payment ADD COLUMN customer_id text;
ALTER TABLE payment ADD COLUMN payment_method_id text;
ALTER TABLE payment ADD COLUMN failure text;
ALTER TABLE payment ADD COLUMN invoice_id text;
COMMENT ON COLUMN payment.is_automatic IS 'True: a charge of a saved card. Its session_id is no Checkout: a version without automatic charges asks Stripe for it, gets an error, and books nothing.';
COMMENT ON COLUMN payment.failure IS 'Reason of a refused charge, for people.';
CREATE TABLE open_charge (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  payment_id uuid NOT NULL UNIQUE REFERENCES payment (id),
  attempted_at timestamptz
);
COMMENT ON TABLE open_charge IS 'The automatic payment of an account that is pending: at most one.';
COMMENT ON COLUMN open_charge.attempted_at IS 'Time of the last request to Stripe for the charge; null = none yet.';
CREATE INDEX payment_automatic ON payment (account_id, created_at) WHERE is_automatic;
CREATE INDEX payment_uninvoiced ON payment (created_at) WHERE is_automatic AND status = 'completed' AND invoice_id IS NULL;

-- Alerts have more kinds: top_up_failed and top_up_limit.
ALTER TABLE alert DROP CONSTRAINT alert_kind_check;
