// Roll-up store owns the statements that add to the activity by hour and day: one for committed steps, one for lines of texts. Each
// request adds to two rows, so a read has at most 400 hours or the days of its range.
import { STEP_BEGINS, STEPS } from "./duration-steps.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/** Service of the holds that are text requests. */
export const TEXT_SERVICE = "text-proxy";

const eachStep = (element: (step: number) => string) =>
  Array.from({ length: STEPS }, (_, index) => element(index + 1)).join(", ");
/** The step of a duration, from 1; null for none. */
const stepOf = (ms: string) => `1 + width_bucket(${ms}, '{${STEP_BEGINS.join(",")}}'::bigint[])`;
/** The counts of groups, each of which has one step. */
const countSteps = `ARRAY[${eachStep((each) => `coalesce(sum(g.requests) FILTER (WHERE g.step = ${each}), 0)`)}]::integer[]`;
export const sumSteps = (column: string) => `ARRAY[${eachStep((each) => `sum(${column}[${each}])`)}]`;
const addSteps = (column: string) =>
  `ARRAY[${eachStep((each) => `a.${column}[${each}] + excluded.${column}[${each}]`)}]`;

/** Each group of requests counts in its hour and in its day. Groups come first: a histogram costs its number of steps for each row. */
const SPANS = "(VALUES (1::smallint), (24::smallint)) span (hours)";
const HOUR = `r.at - r.at % ${HOUR_MS}`;
const BEGIN = `CASE span.hours WHEN 1 THEN g.hour ELSE g.hour - g.hour % ${DAY_MS} END`;

/** Provider of the last attempt of a hold that ended without a cost. The search begins at the place, near which the hold ends. */
const LAST_PROVIDER = `CASE WHEN s.attempt > 1 THEN (
    SELECT x.provider FROM step x
     WHERE x.bucket = s.bucket AND x.account_id = s.account_id AND x.seq > s.place_seq AND x.seq < s.seq AND x.id = s.id
       AND x.kind = 4 AND x.provider IS NOT NULL ORDER BY x.seq DESC LIMIT 1) END`;

/** Columns of activity of a step with the alias `s` and its place with the alias `p`. A place with a detail was admitted at another time than its step. */
export const ACTIVITY_COLUMNS = `coalesce(s.billed_by, ${LAST_PROVIDER}, p.provider) AS provider,
      CASE WHEN s.kind = 5 AND p.detail IS NULL THEN ${stepOf("s.at - p.at")} END AS step`;

/**
 * Adds the ends of holds.
 * @param steps relation with steps, their places, budgets and `ACTIVITY_COLUMNS`
 */
export const addSteppedActivity = (steps: string): string => `, g AS (
    SELECT r.bucket, r.account_id, ${HOUR} AS hour, r.budget_id, r.model, r.provider, r.service, r.step, count(*) AS requests,
      count(*) FILTER (WHERE r.kind <> 5) AS errors, sum(r.charge) AS charge
      FROM ${steps} r WHERE r.kind IN (5, 6, 7) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
  )
  INSERT INTO activity AS a (bucket, account_id, hours, begins_at, budget_id, model, provider, service, requests, errors, charge, latency)
  SELECT g.bucket, g.account_id, span.hours, ${BEGIN}, g.budget_id, g.model, g.provider, g.service,
    sum(g.requests), sum(g.errors), sum(g.charge), ${countSteps}
    FROM g, ${SPANS} GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
  ON CONFLICT (bucket, account_id, hours, begins_at, budget_id, model, provider, service) DO UPDATE
    SET requests = a.requests + excluded.requests, errors = a.errors + excluded.errors, charge = a.charge + excluded.charge,
      latency = ${addSteps("latency")}`;

/** Rows of before the chain stay: no step has their requests. */
export const CLEAR_ACTIVITY = "DELETE FROM activity WHERE bucket = ANY ($1::int[]) AND service <> ''";

/**
 * Adds the lines of the relation, each with the columns of `text_line`. Rows are written in the order of their key, so two
 * statements wait for each other and never in a circle.
 */
export const addTextActivity = (lines: string): string => `, r AS (
    SELECT account_id, spender_id, model, coalesce(attempts -> -1 ->> 'provider', '') AS provider,
      (extract(epoch FROM began_at) * 1000)::bigint + took_ms AS at, ${stepOf("first_byte_ms")} AS step,
      coalesce((usage ->> 'inputTokens')::bigint, 0) AS input, coalesce((usage ->> 'outputTokens')::bigint, 0) AS output
      FROM ${lines}
  ), g AS (
    SELECT r.account_id, ${HOUR} AS hour, r.spender_id, r.model, r.provider, r.step, count(*) AS requests, sum(r.input) AS input,
      sum(r.output) AS output
      FROM r GROUP BY 1, 2, 3, 4, 5, 6
  )
  INSERT INTO text_activity AS a (bucket, account_id, hours, begins_at, budget_id, model, provider, input_tokens, output_tokens, first_token)
  SELECT get_byte(uuid_send(g.account_id), 15), g.account_id, span.hours, ${BEGIN}, g.spender_id, g.model, g.provider,
    sum(g.input), sum(g.output), ${countSteps}
    FROM g, ${SPANS} GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
  ON CONFLICT (bucket, account_id, hours, begins_at, budget_id, model, provider) DO UPDATE
    SET input_tokens = a.input_tokens + excluded.input_tokens, output_tokens = a.output_tokens + excluded.output_tokens,
      first_token = ${addSteps("first_token")}`;
