-- Top-ups through Stripe. The money is billing's: each payment is a deposit there, under the same id.
CREATE TABLE payment (
  id uuid PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account,
  credits bigint NOT NULL CHECK (credits > 0),
  status text NOT NULL CHECK (status IN ('pending', 'completed', 'failed', 'refunded')),
  asked_by text NOT NULL,
  session_id text UNIQUE,
  checkout_url text,
  intent_id text UNIQUE,
  receipt_url text,
  problem text,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now(),
  checked_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX payment_of_account ON payment (account_id, id);
CREATE INDEX payment_pending ON payment (checked_at) WHERE status = 'pending';
COMMENT ON COLUMN payment.id IS 'A UUID of version 7, so their order is that of time.';
COMMENT ON COLUMN payment.credits IS '1e-4 USD.';
COMMENT ON COLUMN payment.asked_by IS 'E-mail address; kept when the person is gone.';
COMMENT ON COLUMN payment.session_id IS 'Of the Checkout at Stripe; null until it is open there.';
COMMENT ON COLUMN payment.intent_id IS 'Of the PaymentIntent, once Stripe has said it.';
COMMENT ON COLUMN payment.problem IS 'Why it was not booked although it was paid, for the operator; null = nothing is wrong.';
COMMENT ON COLUMN payment.checked_at IS 'When Stripe was last asked about it.';

CREATE TABLE payment_reversal (
  adjustment_id uuid PRIMARY KEY,
  payment_id uuid NOT NULL REFERENCES payment,
  credits bigint NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX reversal_of_payment ON payment_reversal (payment_id);
COMMENT ON TABLE payment_reversal IS 'Partial refunds and disputes: which adjustment of billing belongs to which payment.';
COMMENT ON COLUMN payment_reversal.credits IS 'Below zero took credit, above zero gave it back.';

CREATE TABLE stripe_event (
  id text PRIMARY KEY,
  received_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX stripe_event_received_at ON stripe_event (received_at);
COMMENT ON TABLE stripe_event IS 'What Stripe has told us and we have done; it tells some things again, for three days.';
