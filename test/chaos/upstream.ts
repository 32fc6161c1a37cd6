// The simulated upstream in the test's own process. It outlives a router, like a real one, and its bill
// is the outside reference for the books.
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { sandboxEnvironment } from "@gr/all-in-one";
import { startSimulator } from "@gr/simulator";
import { type BillItem, simulatorBill } from "../e2e/http.ts";

export interface Upstream {
  /** Environment that directs a router to it. */
  readonly env: Readonly<Record<string, string>>;
  bill(): Promise<{ total: bigint; items: BillItem[] }>;
  close(): Promise<void>;
}

export async function startUpstream(
  delays: { tokenDelayMs?: number; imageDelayMs?: number } = {},
): Promise<Upstream> {
  const { url, close } = await startSimulator({ host: "127.0.0.1", port: 0, ...delays });
  return {
    env: sandboxEnvironment(url) as Record<string, string>,
    bill: () => simulatorBill({ simulatorUrl: url }),
    close,
  };
}

/** Answers a request in the upstream's place. @returns false to let the upstream answer */
export type GateKeeper = (incoming: IncomingMessage, body: Buffer, outgoing: ServerResponse) => boolean;

/** A gate before an upstream. Closing it cuts its connections. @returns `env` directs a router to the gate */
export async function startGate(
  upstream: Upstream,
  keeper: GateKeeper,
): Promise<Pick<Upstream, "env" | "close">> {
  const { hostname, port } = new URL(upstream.env["TEXT_UPSTREAM_BASE_URL"] ?? "");
  const gate = createServer(async (incoming, outgoing) => {
    const body = Buffer.concat(await incoming.toArray().catch(() => []));
    if (keeper(incoming, body, outgoing)) return;
    const { method, url: path, headers } = incoming;
    const passed = request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    passed.end(body);
  });
  await new Promise<void>((resolve) => gate.listen(0, "127.0.0.1", resolve));
  const { port: own } = gate.address() as AddressInfo;
  return {
    env: sandboxEnvironment(`http://127.0.0.1:${own}`) as Record<string, string>,
    close: async () => {
      gate.closeAllConnections();
      await new Promise((resolve) => gate.close(resolve));
    },
  };
}
