// Database queries of tests on the generation log, next to the service's own.
import type pg from "pg";

/** The only row there is. */
export async function readRow(db: pg.Pool): Promise<Record<string, unknown>> {
  return (await db.query("SELECT * FROM generation")).rows[0];
}

/** Backends of a process that is about to be killed. */
export async function otherConnections(db: pg.Client): Promise<readonly number[]> {
  const sql =
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
  const { rows } = await db.query<{ pid: number }>(sql);
  return rows.map(({ pid }) => pid);
}

/** Ends the queries of the killed process now, before Postgres itself detects its end. */
export async function cutConnections(db: pg.Client, pids: readonly number[]): Promise<void> {
  await db.query("SELECT pg_terminate_backend(pid) FROM unnest($1::integer[]) AS pid", [pids]);
}

export interface FixedEntry {
  readonly id: string;
  readonly keyId: string;
  readonly state?: "running" | "succeeded" | "failed" | "blocked";
  readonly kind?: "image" | "video";
  readonly model?: string;
  readonly createdAt: string;
}

/** Inserts a generation into the log without generating it. */
export async function insertEntry(
  db: pg.Pool,
  accountId: string,
  { id, keyId, state = "succeeded", kind = "image", model = "sandbox/image", createdAt }: FixedEntry,
): Promise<void> {
  const ended = state !== "running";
  await db.query(
    `INSERT INTO generation (id, account_id, key_id, kind, model, provider, upstream_model, state, request,
       price_version, price_pico_usd, credits, charge_credits, cost_pico_usd, outputs, worker, due_at, deadline_at,
       created_at, finished_at, booked_at, error_kind)
     VALUES ($1, $2, $3, $4, $5, 'x', 'x', $6, '{"prompt":"a fox","n":1,"output_format":"webp","response_format":"url"}',
       '1', 0, 0, $7, $7, '[]', gen_random_uuid(), now() + interval '1 hour', now(), $8, $9, $9, $10)`,
    [
      id,
      accountId,
      keyId,
      kind,
      model,
      state,
      ended ? 0 : null,
      createdAt,
      ended ? createdAt : null,
      state === "failed" || state === "blocked" ? state : null,
    ],
  );
}

/** 50,000 entries of many keys of many accounts, and statistics of them. @returns an account with its busiest key */
export async function fillLog(db: pg.Pool): Promise<{ accountId: string; keyId: string }> {
  await db.query(
    `INSERT INTO generation (id, account_id, key_id, kind, model, provider, upstream_model, state, request,
       price_version, price_pico_usd, credits, charge_credits, cost_pico_usd, outputs, worker, due_at, deadline_at,
       created_at, finished_at, booked_at)
     SELECT gen_random_uuid(), ('00000000-0000-4000-8000-00000000000' || n % 5)::uuid, 'key-' || n % 50, 'image',
       'model-' || n % 7, 'x', 'x', 'succeeded', '{}', '1', 0, 0, 0, 0, '[]', gen_random_uuid(), now(), now(),
       now() - n * interval '1 second', now(), now()
     FROM generate_series(1, 50000) AS n`,
  );
  await db.query("ANALYZE generation");
  return { accountId: "00000000-0000-4000-8000-000000000000", keyId: "key-0" };
}

/** How PostgreSQL would carry a query out. */
export async function planOf(
  db: pg.Pool,
  { text, values }: { readonly text: string; readonly values: unknown[] },
): Promise<string> {
  const { rows } = await db.query<{ "QUERY PLAN": string }>(`EXPLAIN ${text}`, values);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}
