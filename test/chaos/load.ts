// This file sends load to a router: a seeded mix of orders at a fixed rate, bounded in number, until `end`. It keeps every
// request with the conclusion that the client may draw.
import { Agent } from "undici";
import { type Order, type Sent, send } from "./send-order.ts";

/** Returns a request to `sandbox/chat` for `tokens` of output. */
export function chat(tokens: number, stream: boolean): Pick<Order, "path" | "body"> {
  const messages = [{ role: "user", content: `#tokens=${tokens}` }];
  const body = { model: "sandbox/chat", stream, max_tokens: tokens, messages };
  return { path: "/v1/compat/chat/completions", body };
}

export function image(prompt: string): Pick<Order, "path" | "body"> {
  return { path: "/v1/compat/images/generations", body: { model: "sandbox/image", prompt } };
}

const ALL_AT_ONCE = Number.POSITIVE_INFINITY;

export interface RunningLoad {
  /** Requests that are answered so far, in the order of their answers. */
  readonly sent: readonly Sent[];
  /** Returns the number of requests that were started so far. */
  started(): number;
  /** Resolves when the largest number of requests is answered, with all of them. */
  all(): Promise<readonly Sent[]>;
  /** Starts no more requests, and waits for the running ones. Resolves with all requests, at repeated calls too. */
  end(): Promise<readonly Sent[]>;
}

export interface LoadBounds {
  readonly perSecond: number;
  readonly most: number;
  /** Largest number of requests at the same time; no bound by default. */
  readonly together?: number;
  /** Pause of a client after a failure, before the next client replaces it; 0 by default. */
  readonly backOffMs?: number;
  /** Time for which an idle connection is kept; by default the gateway's own. */
  readonly idleMs?: number;
}

/** @param next returns the order with the number `index` */
export function startLoad(next: (index: number) => Order, bounds: LoadBounds): RunningLoad {
  const { perSecond, most, together = most, backOffMs = 0, idleMs } = bounds;
  const kept = idleMs === undefined ? {} : { keepAliveTimeout: idleMs, keepAliveMaxTimeout: idleMs };
  const agent = new Agent({ pipelining: 1, ...kept });
  const sent: Sent[] = [];
  const running = new Set<Promise<void>>();
  const everyOne = Promise.withResolvers<void>();
  const beganAt = performance.now();
  let started = 0;
  let ending = false;
  // Overdue requests start together, so that the rate does not fall with a slow test process.
  const startDue = () => {
    const due = perSecond === ALL_AT_ONCE ? most : ((performance.now() - beganAt) / 1000) * perSecond;
    while (started < Math.min(due, most) && running.size < together) {
      const one = send(next(started), agent).then(async (answer) => {
        sent.push(answer);
        const failed = answer.status === undefined || answer.status >= 500;
        if (failed && backOffMs > 0 && !ending)
          await new Promise((resolve) => setTimeout(resolve, backOffMs));
        running.delete(one);
        if (sent.length === most) everyOne.resolve();
      });
      running.add(one);
      started += 1;
    }
  };
  const timer = setInterval(startDue, 5);
  startDue();
  let ended: Promise<readonly Sent[]> | undefined;
  const end = async () => {
    ending = true;
    clearInterval(timer);
    await Promise.all(running);
    await agent.close();
    return sent;
  };
  const stop = () => {
    ended ??= end();
    return ended;
  };
  return {
    sent,
    started: () => started,
    all: async () => {
      await everyOne.promise;
      return await stop();
    },
    end: stop,
  };
}

/** Sends all orders at the same time; each answer is added to `sent` at its arrival. */
export function sendAll(orders: readonly Order[]): RunningLoad {
  return startLoad((index) => orders[index] as Order, { perSecond: ALL_AT_ONCE, most: orders.length });
}

/** Returns the number of requests for each status and type of error. */
export function tally(sent: readonly Sent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status = "none", error } of sent) {
    const what = error === undefined ? `${status}` : `${status} ${error.type}`;
    counts[what] = (counts[what] ?? 0) + 1;
  }
  return counts;
}
