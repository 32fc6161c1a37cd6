// Earlier ledger owns the writes of the version before the chain of steps, in its own statements: books that a carry continues, and
// the answers that the chain is compared with.
import { type DepositStatus, depositEntry, type Id } from "@gr/ledger";
import type { Pool } from "@gr/runtime";
import type { Operation, Spender } from "./earlier-operations.ts";

/** An answer without the names of the contract. */
export interface EarlierOutcome {
  readonly code: string;
  readonly remark: Readonly<Record<string, unknown>> | undefined;
}

const POST = `SELECT outcomes::text[] AS outcomes, to_jsonb(remarks) AS remarks FROM post(
  $1::operation_kind[], $2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::integer[],
  $10::integer[], $11::integer[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::bytea[], $18::bytea[],
  $19::timestamptz, $20::integer)`;

const PUT_SPENDER = `INSERT INTO spender AS s
    (id, account_id, name, cap, period, expires_at, active, created_at, revision)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (id) DO UPDATE SET
    name = excluded.name, cap = excluded.cap, period = excluded.period, expires_at = excluded.expires_at,
    active = excluded.active, created_at = excluded.created_at, revision = excluded.revision,
    window_no = s.window_no + CASE WHEN s.period = excluded.period THEN 0 ELSE 1 END,
    window_start = CASE WHEN s.period = excluded.period THEN s.window_start END,
    window_used = CASE WHEN s.period = excluded.period THEN s.window_used ELSE 0 END,
    window_held = CASE WHEN s.period = excluded.period THEN s.window_held ELSE 0 END
  WHERE s.account_id = excluded.account_id AND s.revision <= excluded.revision`;

const LEASE = `UPDATE hold SET lease_until = $3
  WHERE state = 'open' AND service = $1 AND deadline_at <= $2 AND (lease_until IS NULL OR lease_until <= $2) RETURNING id`;

const KEEP = `UPDATE idempotency SET content_type = 'text/plain', body = $2, credits = $3, cost = $4
  WHERE hold_id = $1 AND content_type IS NULL`;

export class EarlierLedger {
  readonly #pool: Pool;
  readonly #freeLimit: number | null;

  constructor(pool: Pool, freeLimit: number | null = null) {
    this.#pool = pool;
    this.#freeLimit = freeLimit;
  }

  async open(accountId: Id): Promise<void> {
    await this.#pool.query("INSERT INTO account (id) VALUES ($1) ON CONFLICT DO NOTHING", [accountId]);
  }

  async setSuspended(accountId: Id, suspended: boolean): Promise<void> {
    await this.#pool.query("UPDATE account SET suspended = $2 WHERE id = $1", [accountId, suspended]);
  }

  async putSpender(spender: Spender): Promise<void> {
    const { id, accountId, name, cap, period, expiresAt, active, createdAt, revision } = spender;
    const values = [id, accountId, name, cap, period, expiresAt, active, createdAt, revision];
    await this.#pool.query(PUT_SPENDER, values);
  }

  /** A first report, or one that may follow the stored one. */
  async putDeposit(
    accountId: Id,
    { id, credits, status }: { readonly id: Id; readonly credits: bigint; readonly status: DepositStatus },
    at: Date,
  ): Promise<void> {
    const found = "SELECT status FROM deposit WHERE id = $1";
    const known = (await this.#pool.query<{ status: DepositStatus }>(found, [id])).rows[0]?.status;
    const kind = depositEntry(known, status);
    if (kind === undefined) throw new Error(`A deposit that is ${known} cannot become ${status}.`);
    await this.#pool.query(
      `INSERT INTO deposit (id, account_id, credits, status, source, created_at, changed_at) VALUES ($1, $2, $3, $4, 'test', $5, $5)
       ON CONFLICT (id) DO UPDATE SET status = excluded.status, changed_at = excluded.changed_at`,
      [id, accountId, credits, status, at],
    );
    if (kind === null) return;
    await this.#pool.query(
      "INSERT INTO entry (at, account_id, deposit_id, credits, kind) VALUES ($4, $1, $2, $3, $5)",
      [accountId, id, credits, at, kind],
    );
    await this.#credit(accountId, kind === "deposit" ? credits : -credits);
  }

  async putAdjustment(accountId: Id, id: Id, credits: bigint, at: Date): Promise<void> {
    await this.#pool.query(
      "INSERT INTO adjustment (id, account_id, credits, reason, created_at) VALUES ($1, $2, $3, 'test', $4)",
      [id, accountId, credits, at],
    );
    await this.#pool.query(
      "INSERT INTO entry (at, account_id, adjustment_id, credits, kind) VALUES ($4, $1, $2, $3, 'adjustment')",
      [accountId, id, credits, at],
    );
    await this.#credit(accountId, credits);
  }

  /** Posts one operation in a transaction of its own. */
  async post(operation: Operation, at: Date): Promise<EarlierOutcome> {
    const {
      kind,
      holdId,
      accountId,
      spenderId,
      credits,
      most,
      cost,
      deadlineAt,
      tag,
      attempt,
      billedBy,
      claim,
    } = operation;
    const tags = [tag, billedBy].filter((each) => each !== null);
    const indexOf = (each: Operation["tag"]) => (each === null ? null : tags.indexOf(each) + 1);
    const some = (value: unknown) => (value === null ? null : [value]);
    const values = [
      ...[[kind], [holdId], [accountId], [spenderId], [credits], some(most), [cost], [deadlineAt]],
      ...[[indexOf(tag)], some(attempt), some(indexOf(billedBy))],
      ...[tags.map(({ service }) => service), tags.map(({ provider }) => provider)],
      ...[tags.map(({ upstreamModel }) => upstreamModel), tags.map(({ model }) => model)],
      ...[
        tags.map(({ priceVersion }) => priceVersion),
        some(claim?.key ?? null),
        some(claim?.fingerprint ?? null),
      ],
      ...[at, this.#freeLimit],
    ];
    const { rows } = await this.#pool.query<{
      outcomes: string[];
      remarks: Record<string, unknown>[] | null;
    }>(POST, values);
    const [code] = rows[0]?.outcomes ?? [];
    if (code === undefined) throw new Error("The function post did not answer an operation.");
    return { code, remark: Object.assign({}, ...(rows[0]?.remarks ?? [])) };
  }

  /** @returns ids of the holds that the caller has now */
  async lease(service: string, at: Date, until: Date): Promise<Id[]> {
    const { rows } = await this.#pool.query<{ id: Id }>(LEASE, [service, at, until]);
    return rows.map(({ id }) => id);
  }

  /** Keeps an answer as the version before does. @returns whether it is kept, now or before */
  async keep(holdId: Id, answer: { readonly body: Buffer; readonly credits: bigint; readonly cost: bigint }) {
    const { rows } = await this.#pool.query<{ kept: boolean; open: boolean }>(
      `SELECT c.content_type IS NOT NULL AS kept, h.state = 'open' AND h.lease_until IS NULL AS open
         FROM idempotency c JOIN hold h ON h.id = c.hold_id WHERE c.hold_id = $1`,
      [holdId],
    );
    const [claim] = rows;
    if (claim?.kept === true) return true;
    if (claim?.open !== true) return false;
    await this.#pool.query(KEEP, [holdId, answer.body, answer.credits, answer.cost]);
    return true;
  }

  async #credit(accountId: Id, change: bigint): Promise<void> {
    await this.#pool.query("UPDATE account SET credits = credits + $2 WHERE id = $1", [accountId, change]);
  }
}
