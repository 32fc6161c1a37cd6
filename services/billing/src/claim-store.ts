// Statements on claims.
/** How long a claim lasts once its hold is resolved. SQL. */
export const CLAIM_LIFETIME = "interval '24 hours'";
