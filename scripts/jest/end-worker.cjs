// This file is loaded into jest and its workers, and ends a worker without remaining work at once. Otherwise Node first
// frees all of its memory, hundreds of megabytes. That needs longer than the half second after which jest reports
// leaks.
if (process.env.JEST_WORKER_ID !== undefined) process.once("beforeExit", () => process.exit());
