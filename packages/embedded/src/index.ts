// Real PostgreSQL and Redis on one machine, started and stopped by us; and the lock that keeps a data directory to
// one router.
export { lockDataDir } from "./data-dir-lock.ts";
export { EmbeddedError } from "./embedded-error.ts";
export { freePort } from "./free-port.ts";
export { type PostgresServer, startPostgres } from "./postgres-server.ts";
export { type RedisServer, startRedis } from "./redis-server.ts";
