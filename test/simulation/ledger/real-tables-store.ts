// Real tables own the replay of simulated statements on PostgreSQL: each has to answer with the same rows or the same error.
import { migratedDatabase, prepareForFlushes, type RowTypes, writeFlush } from "@gr/billing/simulated";
import { connectPostgres, createLogger, type Pool, sqlStateOf } from "@gr/runtime";
import type { TestDatabase } from "@gr/testing";
import { expect } from "@jest/globals";
import type { JournalEntry, StatementJournal } from "./statement-journal.ts";

const TABLES = [
  ...["step", "claim", "kept_answer", "account_state", "budget_state"],
  ...["open_hold", "deposit_report"],
];
const TX_OF = "SELECT max(tx) AS tx FROM step";
/** Position of the type in an array of composites. */
const TYPE_AT = 8;
/** Rows of these statements have no order, although a part of each has one. */
const UNORDERED: ReadonlySet<string | undefined> = new Set(["beginnings", "latest_claims", "states"]);

export class RealTables {
  readonly #database: TestDatabase;
  readonly #pool: Pool;
  readonly #types: RowTypes;
  /** Real transactions by simulated ones. */
  readonly #txs = new Map<bigint, bigint>();

  private constructor(database: TestDatabase, pool: Pool, types: RowTypes) {
    this.#database = database;
    this.#pool = pool;
    this.#types = types;
  }

  static async open(): Promise<RealTables> {
    const database = await migratedDatabase();
    const log = createLogger("silent", "test");
    const pool = await connectPostgres({ url: database.url, poolSize: 1, schema: "billing", log });
    const client = await pool.connect();
    const types = await prepareForFlushes(client);
    client.release();
    return new RealTables(database, pool, types);
  }

  async close(): Promise<void> {
    await this.#pool.end();
    await this.#database.drop();
  }

  /** Empty tables with the steps from before a history. */
  async begin({ first }: StatementJournal): Promise<void> {
    this.#txs.clear();
    await this.#pool.query(`TRUNCATE ${TABLES.join(", ")}`);
    for (const [tx, steps] of first) {
      const client = await this.#pool.connect();
      await writeFlush(client, { steps, claims: [], answers: [] }, this.#types);
      client.release();
      await this.#noteTx(tx);
    }
  }

  async play(entry: JournalEntry): Promise<void> {
    const { sent, answer, tx, txs } = entry;
    const { name, text } = sent;
    const values =
      txs === undefined ? this.#valuesOf(entry) : [sent.values[0], 0n, 0n, this.#realTxs(txs), []];
    const answered = await this.#pool
      .query({ text, values, ...(name === undefined ? {} : { name }) })
      .then(({ rows }) => ({ rows: rows as object[] }), errorOf);
    if ("error" in answer || "error" in answered) expect(answered).toEqual(answer);
    else {
      const inOrder = UNORDERED.has(name) || !text.includes("ORDER BY") ? sorted : asTheyAre;
      expect(inOrder(answered.rows)).toEqual(inOrder(answer.rows.map(withoutBucket)));
    }
    if (tx !== undefined) await this.#noteTx(tx);
  }

  /** Binary arrays name their type by its number in this database. */
  #valuesOf({ sent: { name, values } }: JournalEntry): unknown[] {
    if (name !== "insert_steps" && name !== "insert_all") return [...values];
    const { step, claim, keptAnswer } = this.#types;
    const types = [step, claim, keptAnswer];
    return values.map((value, index) => {
      const bytes = Buffer.from(value as Buffer);
      bytes.writeInt32BE(types[index] ?? 0, TYPE_AT);
      return bytes;
    });
  }

  #realTxs(txs: readonly bigint[]): bigint[] {
    return txs.map((tx) => {
      const real = this.#txs.get(tx);
      if (real === undefined) throw new Error(`Transaction ${tx} was not replayed.`);
      return real;
    });
  }

  async #noteTx(tx: bigint): Promise<void> {
    const client = await this.#pool.query<{ tx: bigint }>(TX_OF);
    this.#txs.set(tx, client.rows[0]?.tx ?? 0n);
  }
}

function errorOf(error: unknown): { readonly error: string } {
  const code = sqlStateOf(error);
  if (code === undefined) throw error;
  return { error: code };
}

/** The key names the bucket, and no read returns it. */
function withoutBucket(row: object): object {
  const { bucket: _, ...columns } = row as { readonly bucket?: number };
  return columns;
}

const asTheyAre = (rows: readonly object[]): readonly object[] => rows;

function sorted(rows: readonly object[]): readonly object[] {
  const textOf = (row: object) =>
    JSON.stringify(Object.entries(row).sort(), (_, value: unknown) =>
      typeof value === "bigint" ? `${value}` : value,
    );
  return rows.toSorted((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
}
