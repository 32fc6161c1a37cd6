// What tests share: real databases, ports, clocks, patience.
export { freePort } from "@gr/embedded";
export { compareSchema, describeSchema } from "./describe-schema.ts";
export { ManualClock } from "./manual-clock.ts";
export { RedisLine } from "./redis-line.ts";
export { type TestDatabase, testDatabase } from "./test-database.ts";
export { testRedis } from "./test-redis.ts";
export { until } from "./until.ts";
