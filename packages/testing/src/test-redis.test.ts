// The guarantees of test databases in Redis.
import { expect, test } from "@jest/globals";
import { Redis } from "ioredis";
import { testRedis } from "./test-redis.ts";

test("each caller has keys of its own and empties nobody else's", async () => {
  const [mine, yours] = await Promise.all([testRedis(), testRedis()]);
  const clients = [new Redis(mine.url), new Redis(yours.url)] as const;
  await clients[0].set("key", "mine");
  await clients[1].set("key", "yours");
  await mine.flush();
  await expect(clients[0].get("key")).resolves.toBeNull();
  await expect(clients[1].get("key")).resolves.toBe("yours");
  for (const client of clients) client.disconnect();
});
