// Rules of every refused request: a status below 500 in our envelope, with the fault and its place. Nothing is written:
// no credit moved, no key minted, no hold placed, no provider called.
import { afterAll, afterEach, beforeAll, expect } from "@jest/globals";
import { type Answer, call } from "./http.ts";
import { billingOf } from "./operator.ts";
import type { Router } from "./topology.ts";

export interface Refusal {
  /** One of these; 400 when absent. */
  readonly status?: readonly number[];
  /** Field or header at fault; not checked if absent. */
  readonly names?: readonly string[];
}

const AT_ONCE = 16;
const TYPES = new Set(["invalid_request_error", "unauthorized"]);

/** Returns the fault of a refusal; undefined if it has none. */
export function complaintOf(answer: Answer, { status = [400], names }: Refusal): string | undefined {
  if (!status.includes(answer.status)) return `status ${answer.status}, not ${status.join(" or ")}`;
  if (!/^[0-9a-f-]{36}$/.test(answer.headers.get("x-request-id") ?? "")) return "no request id";
  const { error, ...rest } = answer.body as { error?: Record<string, unknown> };
  if (error === undefined || Object.keys(rest).length > 0)
    return `no envelope: ${JSON.stringify(answer.body)}`;
  const { message, type, param, code, ...more } = error;
  if (Object.keys(more).length > 0) return `unknown parts of the error: ${Object.keys(more)}`;
  if (typeof message !== "string" || message.length < 10 || message.length > 1_000)
    return `message ${message}`;
  if (typeof type !== "string" || !TYPES.has(type)) return `type ${type}`;
  if (param !== undefined && typeof param !== "string") return `param ${param}`;
  if (code !== undefined && typeof code !== "string") return `code ${code}`;
  const named = names?.some(
    (name) => (param ?? "") === name || param?.startsWith(`${name}[`) || message.includes(name),
  );
  return named === false ? `"${message}" (param ${param}) names none of ${names}` : undefined;
}

/** One case: its name in a report, its request, the rules of its refusal. */
export interface BadCase {
  readonly name: string;
  readonly send: () => Promise<Answer>;
  readonly refusal?: Refusal;
}

/** Sends all cases, a few at a time, and expects the right refusal of each. */
export async function expectRefusals(cases: readonly BadCase[]): Promise<void> {
  expect(cases.length).toBeGreaterThan(0);
  const complaints: string[] = [];
  const waiting = [...cases];
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { name, send, refusal = {} } = next;
      const complaint = await send().then(
        (answer) => complaintOf(answer, refusal),
        (error: unknown) => `no answer: ${error}`,
      );
      if (complaint !== undefined) complaints.push(`${name.slice(0, 200)}: ${complaint}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  expect(complaints).toEqual([]);
}

/**
 * Expects of each test of this block that it writes nothing, and sound books at the end: their proof costs more than most tests.
 * @param routerOf called once the router runs
 */
export function expectNothingWritten(routerOf: () => Router): void {
  let before: object;
  beforeAll(async () => {
    before = await stateOf(routerOf());
  });
  afterEach(async () => {
    expect(await stateOf(routerOf())).toEqual(before);
  });
  afterAll(async () => {
    const { differences } = await (await billingOf(routerOf().dataDir)).verifyLedger({});
    expect(differences).toEqual([]);
  });
}

/** One connection for each router, for all reads of its state. */
const operators = new WeakMap<Router, ReturnType<typeof billingOf>>();

/** Returns all state that a request could have written, in the views of its owner and the operator. */
async function stateOf(router: Router): Promise<object> {
  const operator = operators.get(router) ?? billingOf(router.dataDir);
  operators.set(router, operator);
  const billing = await operator;
  const [credits, keys, { holds }, bill] = await Promise.all([
    call(router, "GET", "/v1/credits?by_api_key=true"),
    call(router, "GET", "/v1/api-keys", { key: router.managementKey }),
    billing.listHolds({ limit: 1_000 }),
    fetch(`${router.simulatorUrl}/bill`),
  ]);
  expect([credits.status, keys.status]).toEqual([200, 200]);
  return {
    credits: credits.body,
    keys: keys.body,
    holds: holds.map(({ holdId, state }) => `${holdId} ${state}`),
    bill: await bill.json(),
  };
}
