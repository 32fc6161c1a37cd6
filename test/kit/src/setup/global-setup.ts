// Before all tests: one PostgreSQL and one Redis for the whole run; the workers find their URLs in the environment.
// Missing parts fail here, with the remedy. Both servers end with jest in every case, and remove their files.
// A run that a test starts, on sources that are wrong on purpose, uses the servers of the run around it.
import { mkdir, mkdtemp, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startPostgres, startRedis } from "@gr/embedded";
import { OWN_TEMPLATES } from "../test-database.ts";
import { COMPILED_BY_CHILDREN } from "../warm-start.ts";
import { infrastructure } from "./infrastructure.ts";

const CACHE = fileURLToPath(new URL("../../../../.tools", import.meta.url));
/** One for each call of testRedis. */
const REDIS_DATABASES = 4096;
/** Compiled code of child processes, by the content of their sources. A router has 3,400 files; each change of a source adds one. */
const COMPILED = join(CACHE, "compiled");
const MOST_COMPILED = 20_000;
/** Files in memory, on Linux. A container can have a small one. */
const MEMORY = "/dev/shm";
const ENOUGH_MEMORY = 4 * 2 ** 30;

export default async function setUp(): Promise<void> {
  if (process.env[OWN_TEMPLATES] !== undefined) return;
  const dataDir = await mkdtemp(join(await fastFolder(), "generation-router-tests-"));
  const [postgres, redis] = await Promise.all([
    startPostgres({ dataDir, durable: false, temporary: true }),
    startRedis({ cacheDir: CACHE, config: { databases: String(REDIS_DATABASES) } }),
  ]);
  infrastructure.servers.push(postgres, redis);
  await emptyIfFull(COMPILED);
  process.env[COMPILED_BY_CHILDREN] = COMPILED;
  delete process.env["NODE_COMPILE_CACHE"];
  process.env["TEST_POSTGRES_URL"] = postgres.url;
  process.env["TEST_REDIS_URL"] = redis.url;
}

/** The databases of the tests are gone with the run, so a disk would only cost time. */
async function fastFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= ENOUGH_MEMORY ? MEMORY : tmpdir();
}

async function emptyIfFull(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder, { recursive: true })).length < MOST_COMPILED) return;
  await rm(folder, { recursive: true });
  await mkdir(folder);
}
