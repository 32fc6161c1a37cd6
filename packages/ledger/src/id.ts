// Id owns the type of all names in the ledger.

/** Id of an account, hold, deposit, adjustment or budget: a UUID in lower case. */
export type Id = string;
