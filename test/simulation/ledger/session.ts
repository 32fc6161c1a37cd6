// Session owns one connection of a simulated process to the simulated PostgreSQL: its statements in order, its transaction, and the loss
// of both. The pool has as many as its process uses at once.
import type { Pool, PoolClient } from "@gr/runtime";
import type { Life } from "../world/process.ts";
import type { Database } from "./database.ts";
import type { FollowerTables } from "./follower-tables.ts";
import { sendStatement } from "./postgres.ts";
import { executeStatement, type Reply } from "./statements.ts";
import type { WriterWatch } from "./writer-watch.ts";

interface Transaction {
  snapshot: ReturnType<FollowerTables["snapshot"]> | undefined;
  readonly writes: (() => void)[];
  readonly ends: (() => void)[];
  /** By true time: PostgreSQL ends a transaction that does nothing for a long time. */
  activeAt: number;
}

interface Query {
  readonly text: string;
  readonly name?: string;
  readonly values?: readonly unknown[];
}

/** As in `packages/runtime`. */
const IDLE_IN_TRANSACTION_MS = 30_000;
/** Statements without an effect on rows. */
const SETTINGS = /^(SET|BEGIN|ROLLBACK|SELECT$|SELECT 'step_in'::regtype)/;

export class Session {
  readonly database: Database;
  readonly watch: WriterWatch | undefined;
  readonly #life: Life;
  readonly #openedAt: number;
  #isBroken = false;
  #transaction: Transaction | undefined;

  constructor(life: Life, database: Database, watch: WriterWatch | undefined) {
    this.#life = life;
    this.database = database;
    this.watch = watch;
    this.#openedAt = life.world.now;
  }

  on(): void {
    // A break is reported to the statement that meets it.
  }

  release(error?: unknown): void {
    if (error !== undefined) this.#break();
  }

  get isInTransaction(): boolean {
    if (this.#transaction === undefined || !this.isOpen) return false;
    return this.#life.world.now < this.#transaction.activeAt + IDLE_IN_TRANSACTION_MS;
  }

  /** After an outage of the server its former connections are broken. */
  get isOpen(): boolean {
    return this.#life.alive && !this.#isBroken && this.#openedAt >= this.#life.world.postgresAwayUntil;
  }

  /** Snapshot of the transaction, from its first statement on. */
  get snapshot(): ReturnType<FollowerTables["snapshot"]> {
    const transaction = this.#required();
    transaction.snapshot ??= this.database.followers.snapshot();
    return transaction.snapshot;
  }

  /** At the commit; without a transaction, at once. */
  write(change: () => void): void {
    if (this.#transaction === undefined) change();
    else this.#transaction.writes.push(change);
  }

  /** At the end of the transaction, in any way. */
  atEnd(run: () => void): void {
    this.#required().ends.push(run);
  }

  query(query: string | Query, parameters: readonly unknown[] = []): Promise<Reply> {
    const { text, name, values = parameters } = typeof query === "string" ? { text: query } : query;
    if (!this.isOpen || (this.#transaction !== undefined && !this.isInTransaction)) {
      this.#break();
      return sendStatement(this.#life, ({ lose }) => lose());
    }
    if (this.#transaction !== undefined) this.#transaction.activeAt = this.#life.world.now;
    if (SETTINGS.test(text)) return Promise.resolve(this.#set(text));
    const batch = this.watch?.batch;
    return sendStatement(
      this.#life,
      (ending) => {
        if (text === "COMMIT") this.#commit(ending.answerNow);
        else executeStatement(this, { text, name, values, batch }, ending);
      },
      () => this.#break(),
    );
  }

  #set(text: string): Reply {
    if (text === "BEGIN") {
      const activeAt = this.#life.world.now;
      this.#transaction = { snapshot: undefined, writes: [], ends: [], activeAt };
    }
    if (text === "ROLLBACK") this.#end();
    const types = { step: 1, claim: 2, keptAnswer: 3 };
    return { rows: [types], rowCount: 1 };
  }

  #commit(answer: (reply: Reply) => void): void {
    // The transaction of a dead process is rolled back.
    if (this.isOpen) for (const write of this.#required().writes) write();
    this.#end();
    answer({ rows: [], rowCount: 0 });
  }

  #required(): Transaction {
    if (this.#transaction === undefined) throw new Error("This statement needs a transaction.");
    return this.#transaction;
  }

  #break(): void {
    this.#isBroken = true;
    this.#end();
  }

  #end(): void {
    const ends = this.#transaction?.ends ?? [];
    this.#transaction = undefined;
    for (const end of ends) end();
  }
}

/** @param watch of the writer's connection */
export function poolOf(life: Life, database: Database, watch?: WriterWatch): Pool {
  const open = () => new Session(life, database, watch) as unknown as PoolClient;
  const pool: Pick<Pool, "connect" | "query"> = {
    connect: (async () => open()) as Pool["connect"],
    query: ((...query: Parameters<Session["query"]>) =>
      new Session(life, database, watch).query(...query)) as unknown as Pool["query"],
  };
  return pool as Pool;
}
