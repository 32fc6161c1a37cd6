// Real PostgreSQL and Redis on one machine, started and stopped by us; and the lock that keeps a data directory to
// one process.
export { type DataDirLock, lockDataDir } from "./data-dir-lock.ts";
export { EmbeddedError } from "./embedded-error.ts";
export { freePort } from "./free-port.ts";
export { type PostgresOptions, type PostgresServer, startPostgres } from "./postgres-server.ts";
export { createStandby, type StandbyOptions } from "./postgres-standby.ts";
export { type RedisOptions, type RedisServer, startRedis } from "./redis-server.ts";
