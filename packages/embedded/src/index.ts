// Real PostgreSQL and Redis on one machine, started and stopped by us; and the lock that keeps a data directory to
// one process.
export { type PostgresOptions, type PostgresServer, startPostgres } from "./postgres/postgres-server.ts";
export { createStandby, type StandbyOptions } from "./postgres/postgres-standby.ts";
export { type DataDirLock, lockDataDir } from "./process/data-dir-lock.ts";
export { EmbeddedError } from "./process/embedded-error.ts";
export { freePort } from "./process/free-port.ts";
export { type RedisOptions, type RedisServer, startRedis } from "./redis/redis-server.ts";
