// Level columns own the SQL that turns the four levels of a step into rows.

export const LEVELS = [1, 2, 3, 4] as const;

/** Budgets of each row of a table, one row each, without the empty levels. */
export const EACH_LEVEL = `CROSS JOIN LATERAL (VALUES ${LEVELS.map(
  (level) => `(${level}, budget${level}, window${level}, used${level}, held${level})`,
).join(", ")}) AS x (level, budget, win, used, budget_held)`;
