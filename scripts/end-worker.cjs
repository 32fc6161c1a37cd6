// Loaded into jest and its workers: a worker that has nothing left to do ends at once. Without this Node frees all of its
// memory first, hundreds of megabytes, which takes longer than the half second that jest waits before it speaks of leaks.
if (process.env.JEST_WORKER_ID !== undefined) process.once("beforeExit", () => process.exit());
