// This file is loaded into jest and its workers. A worker without remaining work ends at once: otherwise Node first frees all of its
// memory, hundreds of megabytes. A worker that an open handle keeps alive names the handle in a file, and scripts/test.ts then fails the run.
const { appendFileSync } = require("node:fs");

/** First member of the message that ends a worker (CHILD_MESSAGE_END of jest-worker). */
const END = 2;
/** Sockets and pools that are being closed need a moment, longer on a busy machine. */
const PATIENCE_MS = Number(process.env.WORKER_END_PATIENCE_MS ?? 30_000);

if (process.env.JEST_WORKER_ID !== undefined) {
  process.once("beforeExit", () => process.exit());
  process.on("message", function end(message) {
    if (message[0] !== END) return;
    // A listener would keep the channel open.
    process.off("message", end);
    setTimeout(() => {
      appendFileSync(process.env.LEFT_OPEN_FILE, `${process.getActiveResourcesInfo().join(", ")}\n`);
      process.exit();
    }, PATIENCE_MS).unref();
  });
}
