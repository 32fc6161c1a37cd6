// TestClient sends the tests' requests to a running simulator: real HTTP, raw texts, exact amounts.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface BillView {
  readonly total_pico_usd: string;
  readonly items: readonly {
    readonly request_id: string;
    readonly model: string;
    readonly pico_usd: string;
  }[];
}

export class TestClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  async post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await this.open(path, body, headers);
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Sends a request and resolves with the headers of its answer. */
  async open(
    path: string,
    body: unknown,
    headers: Record<string, string> = {},
    signal: AbortSignal | null = null,
  ): Promise<Response> {
    return await fetch(`${this.#url}${path}`, {
      method: "POST",
      headers: { authorization: "Bearer test", "content-type": "application/json", ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
      signal,
    });
  }

  /** On a connection of its own: the simulator may close a kept one at the moment of its next use. */
  async get(path: string): Promise<Answer> {
    const headers = { authorization: "Bearer test", connection: "close" };
    const response = await fetch(`${this.#url}${path}`, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  async bill(): Promise<BillView> {
    return JSON.parse((await this.get("/bill")).text);
  }

  /** Resolves with the bill of a request, after it was billed. */
  async billed(requestId: string): Promise<bigint> {
    for (let attempt = 0; attempt < 6_000; attempt++) {
      const answer = await this.get(`/bill/${requestId}`);
      if (answer.status === 200) return BigInt(JSON.parse(answer.text).pico_usd);
      await sleep(10);
    }
    throw new Error(`${requestId} was never billed`);
  }
}

/** A chat body with one user message. */
export function chat(model: string, content: string, more: Record<string, unknown> = {}) {
  return { model, messages: [{ role: "user", content }], ...more };
}

/** Reads every `"cost":` of a raw text as exact integers of 1e-12 USD. */
export function costsIn(text: string): bigint[] {
  return [...text.matchAll(/"cost":([^,}]+)/g)].map(([, number = ""]) => picoOf(number));
}

/** Reads a plain decimal. Any other form, an exponent for example, is an error. */
export function picoOf(decimal: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,12}))?$/.exec(decimal);
  if (match === null) throw new Error(`${decimal} is not a plain decimal number`);
  return BigInt(`${match[1]}${(match[2] ?? "").padEnd(12, "0")}`);
}

/** The JSON payloads of a stream, in order, without `[DONE]` and comments. */
export function payloadsOf<Payload>(stream: string): Payload[] {
  return stream
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

/** Runs `use` with a folder of its own. */
export async function withFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), "simulator-"));
  try {
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
