// A database with the console's tables, and its store on it.
import { join } from "node:path";
import { connectPostgres, createLogger, migrate, type Pool } from "@gr/runtime";
import { testDatabase } from "@gr/testing";
import { type ConsoleStore, createConsoleStore } from "../store.ts";

export interface ConsoleDatabase {
  readonly url: string;
  readonly pool: Pool;
  readonly store: ConsoleStore;
  stop(): Promise<void>;
}

export async function startConsoleDatabase(): Promise<ConsoleDatabase> {
  const log = createLogger("silent", "test");
  const connect = (url: string) => connectPostgres({ url, poolSize: 4, schema: "console", log });
  const database = await testDatabase("console", async (url) => {
    const pool = await connect(url);
    await migrate(pool, { name: "console", migrations: join(import.meta.dirname, "../../migrations") });
    await pool.end();
  });
  const pool = await connect(database.url);
  return {
    url: database.url,
    pool,
    store: createConsoleStore(pool),
    stop: async () => {
      await pool.end();
      await database.drop();
    },
  };
}
