// This file sends one paid request, and classifies the result by the conclusion of the client: paid, refused, or unknown.
import { type Dispatcher, request } from "undici";

/** Request that a test may send any number of times. */
export interface Order {
  readonly baseUrl: string;
  readonly secret: string;
  readonly path: string;
  readonly body: unknown;
  readonly idempotencyKey?: string;
}

/**
 * `paid`: the whole answer has arrived. `refused`: an error states that nothing was charged. `unknown`: no answer, a cut
 * answer, or an error that states that the outcome is not certain.
 */
export type Conclusion = "paid" | "refused" | "unknown";

export interface Sent {
  readonly order: Order;
  /** Unix milliseconds, measured before the first byte is sent. */
  readonly startedAt: number;
  readonly conclusion: Conclusion;
  /** Status of the answer; undefined if no head arrived. */
  readonly status: number | undefined;
  readonly requestId: string;
  readonly replayed: boolean;
  /** `type`, `code` and `message` of the error, or the reason for a missing answer. */
  readonly error: { readonly type: string; readonly code: string; readonly message: string } | undefined;
}

/** Longest wait, far above the time of any answer: a request that reaches it hangs. */
const PATIENCE_MS = 60_000;

export async function send(order: Order, dispatcher: Dispatcher): Promise<Sent> {
  const startedAt = Date.now();
  try {
    const { statusCode, headers, body } = await request(`${order.baseUrl}${order.path}`, {
      method: "POST",
      dispatcher,
      headersTimeout: PATIENCE_MS,
      bodyTimeout: PATIENCE_MS,
      headers: {
        authorization: `Bearer ${order.secret}`,
        "content-type": "application/json",
        ...(order.idempotencyKey === undefined ? {} : { "idempotency-key": order.idempotencyKey }),
      },
      body: JSON.stringify(order.body),
    });
    const base = {
      order,
      startedAt,
      status: statusCode,
      requestId: String(headers["x-request-id"] ?? ""),
      replayed: headers["idempotency-replayed"] === "true",
    };
    try {
      const text = await body.text();
      const isStream = String(headers["content-type"]).startsWith("text/event-stream");
      return { ...base, ...(isStream ? concludeStream(text) : concludeWhole(statusCode, text)) };
    } catch (error) {
      return { ...base, conclusion: "unknown", error: lost(error) };
    }
  } catch (error) {
    const base = { order, startedAt, status: undefined, requestId: "", replayed: false };
    return { ...base, conclusion: "unknown", error: lost(error) };
  }
}

function concludeWhole(status: number, text: string): Pick<Sent, "conclusion" | "error"> {
  const { error, cost } = JSON.parse(text);
  if (error !== undefined) return concludeError(error);
  if (status !== 200 || typeof cost !== "number") throw new Error(`${status} without cost or error: ${text}`);
  return { conclusion: "paid", error: undefined };
}

function concludeStream(text: string): Pick<Sent, "conclusion" | "error"> {
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) => JSON.parse(json));
  const failure = events.find(({ error }) => error !== undefined);
  if (failure !== undefined) return concludeError(failure.error);
  const whole = /^data: \[DONE\]$/m.test(text) && events.some(({ usage }) => usage?.cost !== undefined);
  if (whole) return { conclusion: "paid", error: undefined };
  return { conclusion: "unknown", error: { type: "cut", code: "", message: "" } };
}

function concludeError({
  type,
  code,
  message,
}: {
  type: string;
  code?: string;
  message: string;
}): Pick<Sent, "conclusion" | "error"> {
  const unknown = type === "internal_error" && (code === undefined || code === "outcome_unknown");
  return { conclusion: unknown ? "unknown" : "refused", error: { type, code: code ?? "", message } };
}

function lost(error: unknown): NonNullable<Sent["error"]> {
  const { code, name, message } = error as NodeJS.ErrnoException;
  return { type: "lost", code: code ?? name, message };
}
