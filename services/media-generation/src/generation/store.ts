// Every SQL statement of media generation. A row belongs to its worker, and after `due_at` to whoever takes it: each
// change names the worker that makes it, and answers false when the row has passed to another.
import { randomUUID } from "node:crypto";
import type { Pool } from "@gr/runtime";
import type { Operation } from "../providers/provider.ts";
import type {
  Ending,
  FinalState,
  Generation,
  GenerationRequest,
  NewGeneration,
  OpenState,
  Times,
} from "./generation.ts";

export interface GenerationStore {
  /** Rejects on an id that exists: one request is one generation. */
  insert(generation: NewGeneration, leaseMs: number): Promise<void>;
  /** Keeps rows from being taken by others. */
  renew(ids: readonly string[], leaseMs: number): Promise<void>;
  saveOperation(id: string, operation: Operation): Promise<boolean>;
  /** A job that was given up for "timeout" is forgotten: its caller was told that it is free, so nobody goes on with it. */
  markUnknown(id: string, errorKind: string, errorMessage: string): Promise<boolean>;
  /** Ends an open generation. From here on its settlement is certain, whoever carries it out. Undefined: not ours. */
  finish(id: string, ending: Ending): Promise<Times | undefined>;
  markSettled(id: string): Promise<void>;
  /** Puts a row off; `unbilled` counts a look-up that found no bill. */
  postpone(id: string, waitMs: number, unbilled: boolean): Promise<void>;
  /** Takes rows that are due, whoever had them, but for those that this process works on; they are ours for `leaseMs`. */
  takeDue(limit: number, leaseMs: number, except: readonly string[]): Promise<Generation[]>;
  find(id: string): Promise<Generation | undefined>;
  /** Rejects when Postgres does not answer. */
  ping(): Promise<void>;
}

interface GenerationRow {
  id: string;
  account_id: string;
  key_id: string;
  model: string;
  provider: string;
  upstream_model: string;
  operation: Operation | null;
  state: OpenState | FinalState;
  request: GenerationRequest;
  price_version: string;
  price_pico_usd: bigint;
  hold_credits: bigint;
  charge_credits: bigint | null;
  cost_pico_usd: bigint | null;
  outputs: string[];
  error_kind: string | null;
  error_message: string | null;
  deadline_at: Date;
  unbilled_lookups: number;
  created_at: Date;
  finished_at: Date | null;
}

const COLUMNS = `id, account_id, key_id, model, provider, upstream_model, operation, state, request, price_version,
  price_pico_usd, hold_credits, charge_credits, cost_pico_usd, outputs, error_kind, error_message, deadline_at,
  unbilled_lookups, created_at, finished_at`;
const LEASE = "now() + $1 * interval '1 millisecond'";

/** @param worker id of this process: a new one for each start, so that a dead process is another. */
export function createGenerationStore(pool: Pool, worker: string = randomUUID()): GenerationStore {
  const change = async (sql: string, values: unknown[]): Promise<boolean> =>
    (await pool.query(sql, values)).rowCount === 1;
  return {
    insert: async (generation, leaseMs) => {
      await pool.query(
        `INSERT INTO generation (due_at, worker, id, account_id, key_id, kind, model, provider, upstream_model, state,
           request, price_version, price_pico_usd, hold_credits, outputs, deadline_at)
         VALUES (${LEASE}, $2, $3, $4, $5, 'image', $6, $7, $8, 'running', $9, $10, $11, $12, $13, $14)`,
        [
          leaseMs,
          worker,
          generation.id,
          generation.accountId,
          generation.keyId,
          generation.model,
          generation.provider,
          generation.upstreamModel,
          JSON.stringify(generation.request),
          generation.priceVersion,
          generation.price,
          generation.hold,
          JSON.stringify(generation.outputs),
          new Date(generation.deadlineAt),
        ],
      );
    },
    renew: async (ids, leaseMs) => {
      await pool.query(
        `UPDATE generation SET due_at = ${LEASE} WHERE worker = $2 AND id = ANY($3) AND settled_at IS NULL`,
        [leaseMs, worker, ids],
      );
    },
    saveOperation: (id, operation) =>
      change("UPDATE generation SET operation = $3 WHERE id = $1 AND worker = $2 AND finished_at IS NULL", [
        id,
        worker,
        JSON.stringify(operation),
      ]),
    markUnknown: (id, errorKind, errorMessage) =>
      change(
        `UPDATE generation SET state = 'unknown', error_kind = $3, error_message = $4, due_at = now(),
           operation = CASE WHEN $3 = 'timeout' THEN NULL ELSE operation END
         WHERE id = $1 AND worker = $2 AND finished_at IS NULL`,
        [id, worker, errorKind, withoutNul(errorMessage)],
      ),
    finish: async (id, ending) => {
      const { rows } = await pool.query<{ created_at: Date; finished_at: Date }>(
        `UPDATE generation SET state = $3, charge_credits = $4, cost_pico_usd = $5, error_kind = $6,
           error_message = $7, finished_at = now()
         WHERE id = $1 AND worker = $2 AND finished_at IS NULL RETURNING created_at, finished_at`,
        [
          id,
          worker,
          ending.state,
          ending.charge,
          ending.cost,
          ending.errorKind,
          ending.errorMessage === null ? null : withoutNul(ending.errorMessage),
        ],
      );
      return rows.map((row) => timesOf(row.created_at, row.finished_at))[0];
    },
    markSettled: async (id) => {
      await pool.query(
        "UPDATE generation SET settled_at = now() WHERE id = $1 AND finished_at IS NOT NULL AND settled_at IS NULL",
        [id],
      );
    },
    postpone: async (id, waitMs, unbilled) => {
      await pool.query(
        `UPDATE generation SET due_at = ${LEASE}, unbilled_lookups = unbilled_lookups + $4
         WHERE id = $2 AND worker = $3 AND settled_at IS NULL`,
        [waitMs, id, worker, unbilled ? 1 : 0],
      );
    },
    takeDue: async (limit, leaseMs, except) => {
      const { rows } = await pool.query<GenerationRow>(
        `UPDATE generation SET worker = $2, due_at = ${LEASE} WHERE id IN (
           SELECT id FROM generation WHERE settled_at IS NULL AND due_at <= now() AND id <> ALL($4)
           ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
         RETURNING ${COLUMNS}`,
        [leaseMs, worker, limit, except],
      );
      return rows.map(generationOf);
    },
    find: async (id) => {
      const { rows } = await pool.query<GenerationRow>(`SELECT ${COLUMNS} FROM generation WHERE id = $1`, [
        id,
      ]);
      return rows.map(generationOf)[0];
    },
    ping: async () => {
      await pool.query("SELECT 1");
    },
  };
}

function generationOf(row: GenerationRow): Generation {
  const { created_at: createdAt, finished_at: finishedAt } = row;
  return {
    id: row.id,
    accountId: row.account_id,
    keyId: row.key_id,
    model: row.model,
    provider: row.provider,
    upstreamModel: row.upstream_model,
    operation: row.operation,
    state: row.state,
    request: row.request,
    priceVersion: row.price_version,
    price: row.price_pico_usd,
    hold: row.hold_credits,
    outputs: row.outputs,
    deadlineAt: row.deadline_at.getTime(),
    unbilledLookups: row.unbilled_lookups,
    ending: finishedAt === null ? null : { ...endingOf(row), ...timesOf(createdAt, finishedAt) },
  };
}

function endingOf({ state, ...row }: GenerationRow): Ending {
  const { charge_credits: charge, cost_pico_usd: cost } = row;
  if (state === "running" || state === "unknown" || charge === null || cost === null) {
    throw new Error(`generation ${row.id} has ended, but its row does not say how`);
  }
  return { state, charge, cost, errorKind: row.error_kind, errorMessage: row.error_message };
}

function timesOf(createdAt: Date, finishedAt: Date): Times {
  return { createdAt: createdAt.getTime(), finishedAt: finishedAt.getTime() };
}

/** Postgres has no text with a NUL in it. */
function withoutNul(text: string): string {
  return text.replaceAll("\0", "�");
}
