// Id owns the form of an id in the ledger: of accounts, budgets, holds, deposits and adjustments.
/** UUID in lower case. */
export type Id = string;
