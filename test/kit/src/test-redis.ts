// A real Redis for tests. Each caller has a logical database of its own, so no test sees or empties another's keys.
// All databases share channels, so tests that publish choose names of their own.
import { Redis } from "ioredis";

export interface TestRedis {
  /** Names the caller's own database. */
  readonly url: string;
  /** Empties the database. */
  flush(): Promise<void>;
}

export async function testRedis(): Promise<TestRedis> {
  const server = process.env["TEST_REDIS_URL"];
  if (server === undefined) throw new Error("tests need Redis: run them with `npm test`, which starts one");
  // Database 0 only counts. Its number is unique in this jest run, for all workers.
  const number = await withClient(server, (client) => client.incr("databases given to tests"));
  const url = `${server}/${number}`;
  return { url, flush: () => withClient(url, async (client) => void (await client.flushdb())) };
}

async function withClient<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}
