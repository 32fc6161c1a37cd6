// A real Redis for tests: each jest worker has a logical database of its own.

export interface TestRedis {
  /** With the worker's database number. */
  readonly url: string;
}

export function testRedis(): TestRedis {
  const server = process.env["TEST_REDIS_URL"];
  if (server === undefined) throw new Error("tests need Redis: run them with `npm test`, which starts one");
  return { url: `${server}/${process.env["JEST_WORKER_ID"] ?? "1"}` };
}
