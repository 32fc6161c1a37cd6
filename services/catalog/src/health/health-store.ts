// Every SQL statement about the health of routes. A report is one statement: its attempts count once, or not at all.
import type { RouteCondition } from "@gr/proto/routes";
import { inTransaction, type Pool } from "@gr/runtime";

export interface AttemptSum {
  readonly provider: string;
  /** Unix milliseconds. */
  readonly beginsAt: number;
  readonly delivered: bigint;
  readonly failed: bigint;
  readonly refused: bigint;
  readonly tookCounts: readonly bigint[];
}

export interface StoredState {
  readonly provider: string;
  readonly upstreamModel: string;
  readonly condition: RouteCondition;
  /** Unix milliseconds as text, as the amounts. */
  readonly since: string;
  readonly until: string;
  readonly lossPicoUsd: string;
}

export interface ProcessReport {
  readonly processId: string;
  readonly service: string;
  readonly states: readonly StoredState[];
}

export interface AttemptWindow extends Omit<AttemptSum, "tookCounts"> {}

export interface HealthStore {
  /** @param at Unix milliseconds. @returns false if the process has sent this report before */
  report(
    report: ProcessReport & { readonly number: bigint; readonly attempts: readonly AttemptSum[] },
    at: number,
  ): Promise<boolean>;
  /** Newest report first. @param since Unix milliseconds */
  processes(since: number): Promise<readonly (ProcessReport & { readonly reportedAt: number })[]>;
  /** Ordered by provider and time. @param from Unix milliseconds */
  windows(from: number, windowMs: number): Promise<readonly AttemptWindow[]>;
  /** Delivered attempts by provider and place of their duration. */
  tookCounts(
    from: number,
  ): Promise<ReadonlyMap<string, readonly (readonly [place: number, count: bigint])[]>>;
  /** Deletes windows and reports before these instants. */
  sweep(windowsBefore: number, reportsBefore: number): Promise<void>;
}

const REPORT = `WITH accepted AS (
    INSERT INTO process_report AS report (process_id, service, number, reported_at, states)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (process_id) DO UPDATE
    SET number = excluded.number, reported_at = excluded.reported_at, states = excluded.states
    WHERE report.number < excluded.number
    RETURNING 1
  ), counted AS (
    INSERT INTO attempt_window AS seen (provider, begins_at, delivered, failed, refused, took_counts)
    SELECT provider, to_timestamp(begins_ms / 1000.0), delivered, failed, refused, took_counts
      FROM jsonb_to_recordset($6::jsonb) AS row
        (provider text, begins_ms bigint, delivered bigint, failed bigint, refused bigint, took_counts bigint[])
     WHERE EXISTS (SELECT FROM accepted)
     ORDER BY provider, begins_ms
    ON CONFLICT (provider, begins_at) DO UPDATE
    SET delivered = seen.delivered + excluded.delivered, failed = seen.failed + excluded.failed,
      refused = seen.refused + excluded.refused,
      took_counts = (SELECT array_agg(coalesce(one, 0) + coalesce(other, 0) ORDER BY place)
        FROM unnest(seen.took_counts, excluded.took_counts) WITH ORDINALITY AS both_counts (one, other, place))
  )
  SELECT count(*)::integer AS accepted FROM accepted`;

const WINDOWS = `SELECT provider, (floor(extract(epoch FROM begins_at) * 1000 / $2) * $2)::bigint AS "beginsAt",
    sum(delivered)::bigint AS delivered, sum(failed)::bigint AS failed, sum(refused)::bigint AS refused
  FROM attempt_window WHERE begins_at >= $1 GROUP BY 1, 2 ORDER BY 1, 2`;

const TOOK_COUNTS = `SELECT provider, place::integer - 1 AS place, sum(count)::bigint AS count
  FROM attempt_window, unnest(took_counts) WITH ORDINALITY AS counts (count, place)
 WHERE begins_at >= $1 GROUP BY 1, 2 HAVING sum(count) > 0 ORDER BY 1, 2`;

export function createHealthStore(pool: Pool): HealthStore {
  return {
    report: async ({ processId, service, number, states, attempts }, at) => {
      const rows = attempts.map(({ provider, beginsAt, delivered, failed, refused, tookCounts }) => ({
        ...{ provider, begins_ms: beginsAt, delivered: String(delivered), failed: String(failed) },
        ...{ refused: String(refused), took_counts: tookCounts.map(String) },
      }));
      const values = [processId, service, number, new Date(at), JSON.stringify(states), JSON.stringify(rows)];
      const { rows: answer } = await pool.query<{ accepted: number }>(REPORT, values);
      return answer[0]?.accepted === 1;
    },
    processes: async (since) => {
      const { rows } = await pool.query<ProcessReport & { reportedAt: Date }>(
        `SELECT process_id AS "processId", service, states, reported_at AS "reportedAt"
           FROM process_report WHERE reported_at >= $1 ORDER BY reported_at DESC LIMIT 1000`,
        [new Date(since)],
      );
      return rows.map((row) => ({ ...row, reportedAt: row.reportedAt.getTime() }));
    },
    windows: async (from, windowMs) => {
      const { rows } = await pool.query<Omit<AttemptWindow, "beginsAt"> & { beginsAt: bigint }>(WINDOWS, [
        new Date(from),
        windowMs,
      ]);
      return rows.map((row) => ({ ...row, beginsAt: Number(row.beginsAt) }));
    },
    tookCounts: async (from) => {
      const { rows } = await pool.query<{ provider: string; place: number; count: bigint }>(TOOK_COUNTS, [
        new Date(from),
      ]);
      const counts = new Map<string, (readonly [number, bigint])[]>();
      for (const { provider, place, count } of rows) {
        counts.set(provider, [...(counts.get(provider) ?? []), [place, count]]);
      }
      return counts;
    },
    sweep: (windowsBefore, reportsBefore) =>
      inTransaction(pool, async (client) => {
        await client.query("DELETE FROM attempt_window WHERE begins_at < $1", [new Date(windowsBefore)]);
        await client.query("DELETE FROM process_report WHERE reported_at < $1", [new Date(reportsBefore)]);
      }),
  };
}
