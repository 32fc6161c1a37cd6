// Common parts of tests: real databases, ports, clocks, patience.
export { freePort } from "@gr/embedded";
export { compareSchema, describeSchema } from "./describe-schema.ts";
export { ManualClock } from "./manual-clock.ts";
export { type RawAnswer, RawUpload, type RawUploadOptions } from "./raw-upload.ts";
export { DatabaseAddress } from "./servers/database-address.ts";
export { RedisLine } from "./servers/redis-line.ts";
export { type ReplicatedPostgres, startReplicatedPostgres } from "./servers/replicated-postgres.ts";
export { startChild, type TestChild } from "./start-child.ts";
export { drained, streamPieces } from "./stream-pieces.ts";
export {
  CITUS_NODES,
  isDistributedRun,
  OWN_TEMPLATES,
  type TestDatabase,
  testDatabase,
} from "./test-database.ts";
export { testRedis } from "./test-redis.ts";
export { until } from "./until.ts";
export { warmStart } from "./warm-start.ts";
