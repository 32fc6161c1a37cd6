// Before all tests: one PostgreSQL and one Redis for the whole run. Missing parts fail here, with the remedy.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres, startRedis } from "@gr/embedded";
import { infrastructure } from "./infrastructure.ts";

const CACHE = fileURLToPath(new URL("../../../.tools", import.meta.url));

export default async function setUp(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), "generation-router-tests-"));
  infrastructure.dataDir = dataDir;
  const [postgres, redis] = await Promise.all([
    startPostgres({ dataDir: join(dataDir, "postgres"), durable: false }),
    startRedis({ cacheDir: CACHE }),
  ]);
  infrastructure.servers.push(postgres, redis);
  process.env["TEST_POSTGRES_URL"] = postgres.url;
  process.env["TEST_REDIS_URL"] = redis.url;
}
