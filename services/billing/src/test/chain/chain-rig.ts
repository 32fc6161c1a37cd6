// Chain rig owns writers of the chain over one test database, and short forms of their operations. Each writer has a pool and a
// memory of its own, as a process has.
import { createHash, randomUUID } from "node:crypto";
import type { BudgetDefinition, Claim, Id, Outcome, PutBudget } from "@gr/ledger";
import { connectPostgres, createLogger, type Pool, type PoolClient } from "@gr/runtime";
import { ManualClock, type TestDatabase } from "@gr/testing";
import { ChainConnection, type ChainOptions } from "../../chain/chain-connection.ts";
import type { ChainOperation, KeepAnswer } from "../../chain/chain-operation.ts";
import { LedgerWriter } from "../../writer/ledger-writer.ts";
import { migratedDatabase } from "../migrated-database.ts";
import { THURSDAY } from "../start-billing.ts";

export const TAG = {
  service: "text-proxy",
  provider: "openrouter",
  upstreamModel: "vendor/chat",
  model: "chat",
  priceVersion: "2026-01",
} as const;

export interface ChainWriterUnderTest {
  /** Posts one call. Calls of one turn share a flush. */
  post(...operations: readonly ChainOperation[]): Promise<Outcome[]>;
  /** Posts one call and returns the codes. */
  codes(...operations: readonly ChainOperation[]): Promise<string[]>;
}

export class ChainRig {
  readonly clock = new ManualClock(THURSDAY);
  readonly pool: Pool;
  readonly url: string;
  readonly #database: TestDatabase;
  readonly #ends: (() => Promise<void>)[] = [];

  private constructor(database: TestDatabase, pool: Pool) {
    this.#database = database;
    this.url = database.url;
    this.pool = pool;
  }

  static async start(): Promise<ChainRig> {
    const database = await migratedDatabase();
    return new ChainRig(database, await poolOn(database.url));
  }

  async writer(
    options: Partial<ChainOptions> & { readonly url?: string } = {},
  ): Promise<ChainWriterUnderTest> {
    const { url = this.url, ...rest } = options;
    const pool = await poolOn(url);
    const log = createLogger("silent", "test");
    const connection = new ChainConnection({ pool, clock: this.clock, freeLimit: null, log, ...rest });
    this.#ends.push(async () => {
      connection.close();
      await pool.end();
    });
    const events = { committed: () => undefined, triedAgain: () => undefined };
    const batching = new LedgerWriter<ChainOperation, Outcome>(connection, events);
    const post = (...operations: readonly ChainOperation[]) => batching.post(operations);
    const codes = async (...operations: readonly ChainOperation[]) =>
      (await post(...operations)).map(({ code }) => code);
    return { post, codes };
  }

  async withClient<Result>(work: (client: PoolClient) => Promise<Result>): Promise<Result> {
    const client = await this.pool.connect();
    try {
      return await work(client);
    } finally {
      client.release(true);
    }
  }

  async stop(): Promise<void> {
    for (const end of this.#ends) await end();
    await this.pool.end();
    await this.#database.drop();
  }
}

export function poolOn(url: string): Promise<Pool> {
  return connectPostgres({ url, poolSize: 2, schema: "billing", log: createLogger("silent", "test") });
}

/** Account with one budget: the key. */
export interface ChainWallet {
  readonly accountId: Id;
  readonly budgetId: Id;
}

export function budget(
  { accountId, budgetId }: ChainWallet,
  fields: Partial<BudgetDefinition> = {},
): PutBudget {
  const definition: BudgetDefinition = {
    id: budgetId,
    parentId: null,
    level: "key",
    name: "a key",
    limit: null,
    period: "lifetime",
    expiresAt: null,
    active: true,
    createdAt: THURSDAY,
    revision: 1n,
    ...fields,
  };
  return { kind: "budget", accountId, definition };
}

/** Operations that open an account with credits and a key. */
export function opening(
  wallet: ChainWallet,
  credits: bigint,
  fields: Partial<BudgetDefinition> = {},
): ChainOperation[] {
  const { accountId } = wallet;
  return [
    { kind: "open", accountId },
    { kind: "deposit", accountId, id: randomUUID(), credits },
    budget(wallet, fields),
  ];
}

export function newWallet(): ChainWallet {
  return { accountId: randomUUID(), budgetId: randomUUID() };
}

interface PlaceFields {
  readonly holdId?: Id;
  readonly claim?: Claim;
  readonly deadlineAt?: number;
}

export function place(wallet: ChainWallet, credits: bigint, fields: PlaceFields = {}) {
  return {
    kind: "place",
    ...wallet,
    holdId: randomUUID() as Id,
    credits,
    deadlineAt: THURSDAY + 600_000,
    tag: TAG,
    ...fields,
  } as const;
}

export function capture({ accountId }: ChainWallet, holdId: Id, charge: bigint, cost = 5n) {
  return { kind: "capture", accountId, holdId, charge, cost } as const;
}

export function release({ accountId }: ChainWallet, holdId: Id, cost = 0n) {
  return { kind: "release", accountId, holdId, cost, unresolved: false } as const;
}

export function keep({ accountId }: ChainWallet, holdId: Id, charge: bigint, body = "answer"): KeepAnswer {
  const answer = { contentType: "application/json", body: Buffer.from(body) };
  return { kind: "keep", accountId, holdId, charge, cost: 5n, answer };
}

/** SHA-256 of a text, as the claims of the ledger have it. */
export function claimOf(key: string, content = "content"): Claim {
  return { key: digest(key), fingerprint: digest(content) };
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
