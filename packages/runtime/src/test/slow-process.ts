// A process for the tests of stopping: an RPC stream that never ends by itself, and a REST answer in five pieces.
import { Readable } from "node:stream";
import { z } from "zod";
import { anyone, restRoute } from "../http/rest-api.ts";
import { defineModule } from "../module.ts";
import { runUntilSignal, startProcess } from "../run.ts";
import { Probe } from "./probe-services.ts";

async function* pieces() {
  for (const piece of ["1", "2", "3", "4", "5"]) {
    yield piece;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const probe = new Probe();
probe.stream = "wait";

const slowModule = defineModule({
  name: "slow",
  needs: [],
  config: z.object({ SLOW_KEY: z.string() }),
  create: async () => ({
    rpc: probe.services(),
    rest: {
      routes: [
        restRoute({
          method: "GET",
          path: "/pieces",
          access: anyone,
          summary: "Pieces",
          responses: {},
          handle: async ({ reply }) => reply.type("text/plain").send(Readable.from(pieces())),
        }),
      ],
    },
    stop: async () => {
      process.stdout.write("stopped\n");
    },
  }),
});

await runUntilSignal(async () => {
  const running = await startProcess([slowModule], { env: process.env });
  process.stdout.write(`${JSON.stringify({ rpc: running.rpcPort, http: running.httpPort })}\n`);
  return running;
});
