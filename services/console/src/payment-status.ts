// PaymentStatus owns the states of a payment. Stripe decides the state; the ledger and the events follow it.
export type PaymentStatus = "pending" | "completed" | "failed" | "refunded";
