// Small HTTP conveniences of the e2e tests: JSON calls with a key, credits, the simulator's bill.
import { creditsOf } from "@gr/money";
import type { Router } from "./topology.ts";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of any shape
  readonly body: any;
}

export async function call(
  router: Pick<Router, "baseUrl" | "apiKey">,
  method: string,
  path: string,
  options: { key?: string | null; body?: unknown; headers?: Record<string, string> } = {},
): Promise<Answer> {
  const key = options.key === undefined ? router.apiKey : options.key;
  const response = await fetch(`${router.baseUrl}${path}`, {
    method,
    headers: {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers,
    },
    ...(options.body === undefined
      ? {}
      : { body: typeof options.body === "string" ? options.body : JSON.stringify(options.body) }),
  });
  const text = await response.text();
  const json = response.headers.get("content-type")?.includes("json") === true;
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
}

/** Remaining credits in units of 1e-4 USD. */
export async function remainingCredits(router: Router): Promise<bigint> {
  const { body } = await call(router, "GET", "/v1/credits");
  return creditsOf(body.remaining_credits);
}

export interface BillItem {
  readonly requestId: string;
  readonly model: string;
  readonly picoUsd: bigint;
}

/** Returns the bill of the simulated upstreams so far. */
export async function simulatorBill(
  router: Pick<Router, "simulatorUrl">,
): Promise<{ total: bigint; items: BillItem[] }> {
  const response = await fetch(`${router.simulatorUrl}/bill`);
  const bill = (await response.json()) as {
    total_pico_usd: string;
    items: { request_id: string; model: string; pico_usd: string }[];
  };
  return {
    total: BigInt(bill.total_pico_usd),
    items: bill.items.map((item) => ({
      requestId: item.request_id,
      model: item.model,
      picoUsd: BigInt(item.pico_usd),
    })),
  };
}
