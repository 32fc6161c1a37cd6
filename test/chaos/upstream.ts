// The simulated upstream in the test's own process. It outlives a router, like a real one, and its bill
// is the outside reference for the books.
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
