// Common parts of tests: real databases, ports, clocks, patience.
export { freePort } from "@gr/embedded";
export { DatabaseAddress } from "./database-address.ts";
export { compareSchema, describeSchema } from "./describe-schema.ts";
export { ManualClock } from "./manual-clock.ts";
export { type RawAnswer, RawUpload, type RawUploadOptions } from "./raw-upload.ts";
export { RedisLine } from "./redis-line.ts";
export { type ReplicatedPostgres, startReplicatedPostgres } from "./replicated-postgres.ts";
export { startChild, type TestChild } from "./start-child.ts";
export { OWN_TEMPLATES, type TestDatabase, testDatabase } from "./test-database.ts";
export { testRedis } from "./test-redis.ts";
export { until } from "./until.ts";
export { warmStart } from "./warm-start.ts";
