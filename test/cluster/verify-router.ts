// This file verifies that a running router does its work. It uses a new account from the first credit to the deleted key, counts
// every charge, and then verifies the books. All requests are for the sandbox's models, so they cost nothing.
import { randomUUID } from "node:crypto";
import { chargeOf, creditsOf, formatCredits, parsePicoUsd } from "@gr/money";
import { ServiceError } from "@gr/proto";
import { BillingService, DepositStatus } from "@gr/proto/billing";
import { KeyKind, KeysService } from "@gr/proto/keys";
import { createRemoteTransport, createServiceClient, systemClock } from "@gr/runtime";
import { until } from "./commands.ts";

export interface RouterPlace {
  /** Address of the public API. */
  readonly baseUrl: string;
  readonly keysRpcUrl: string;
  readonly billingRpcUrl: string;
  readonly secret: string;
}

const DEPOSIT = creditsOf("1");
const MESSAGES = [{ role: "user", content: "Tell me about lighthouses." }];
const VERIFY_TIMEOUT_MS = 60_000;
/** Longest wait for a new pod: its network policies allow its connections only some moments after its start. */
const ANSWER_SECONDS = 300;

/** @param say receives a sentence for each passed step. @throws Error at the first failed step */
export async function verifyRouter(place: RouterPlace, say: (step: string) => void): Promise<void> {
  const { keysRpcUrl, billingRpcUrl, secret } = place;
  const keys = createServiceClient(
    KeysService,
    "keys",
    createRemoteTransport(keysRpcUrl, secret, systemClock),
  );
  const toBilling = createRemoteTransport(billingRpcUrl, secret, systemClock);
  const billing = createServiceClient(BillingService, "billing", toBilling);

  // No customer has this account, but every answer about it shows that the service is reachable.
  const nobody = { accountId: randomUUID() };
  await Promise.all([
    untilAnswered("the keys service", () => keys.listKeys(nobody)),
    untilAnswered("the billing service", () => billing.getCredits(nobody)),
    untilAnswered("the gateway", () => fetch(`${place.baseUrl}/v1/models`)),
  ]);

  const { accountId } = await keys.createAccount({ name: "verification" });
  const deposit = { depositId: randomUUID(), accountId, credits: DEPOSIT, source: "verification" };
  await billing.putDeposit({ ...deposit, status: DepositStatus.COMPLETED });
  const key = await keys.mintKey({ accountId, name: "verification", kind: KeyKind.NORMAL });
  const api = new Api(place.baseUrl, key.secret);
  check(await api.credits(), DEPOSIT, "the credit of a new account");
  say("an account, its credit and a key exist");

  const image = await api.post("/v1/compat/images/generations", {
    model: "sandbox/image",
    prompt: "a lighthouse",
  });
  const { cost: imageCost, data } = (await image.json()) as { cost: number; data: { url: string }[] };
  const picture = await api.get(new URL(data[0]?.url ?? "").pathname);
  check(picture.headers.get("content-type"), "image/webp", "the type of a hosted picture");
  await picture.arrayBuffer();
  say("the router generated an image and hosts it");

  const chat = await api.post("/v1/compat/chat/completions", { model: "sandbox/chat", messages: MESSAGES });
  const { cost: chatCost } = (await chat.json()) as { cost: number };
  const body = { model: "sandbox/chat", messages: MESSAGES, stream: true };
  const streamCost = costOfStream(await (await api.post("/v1/compat/chat/completions", body)).text());
  say("a completion and a stream ended whole");

  const charged = creditsOf(String(imageCost)) + creditsOf(String(chatCost)) + streamCost;
  check(await api.credits(), DEPOSIT - charged, "the credit after three requests");
  say(`the account paid ${formatCredits(charged)} USD, the costs in its answers`);

  await keys.deleteKey({ accountId, keyId: key.key?.keyId ?? "", kind: KeyKind.NORMAL });
  check((await api.send("POST", "/v1/auth/test")).status, 401, "the status for a deleted key");
  say("the router refuses the deleted key");

  const { differences, accounts } = await billing.verifyLedger({}, { timeoutMs: VERIFY_TIMEOUT_MS });
  check(differences.length, 0, "the differences in the ledger");
  say(`the ledger has no differences, accounts: ${accounts}`);
}

/**
 * Waits until the service answers; a refusal is an answer.
 * @param call throws the refusal of the service, or another error without an answer
 * @throws Error without an answer within ANSWER_SECONDS
 */
async function untilAnswered(who: string, call: () => Promise<unknown>): Promise<void> {
  await until(`an answer of ${who}`, ANSWER_SECONDS, () =>
    call().catch((error: unknown) => {
      const refused = error instanceof ServiceError && error.reason !== "service_unavailable";
      if (!refused) throw error;
    }),
  );
}

function costOfStream(text: string): bigint {
  if (!text.endsWith("data: [DONE]\n\n")) throw new Error(`the stream ended with ${text.slice(-200)}`);
  const costs = text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => (JSON.parse(line.slice(6)) as { usage?: { cost?: number } }).usage?.cost)
    .filter((cost) => cost !== undefined);
  const cost = parsePicoUsd(costs.at(-1) ?? Number.NaN);
  if (cost === undefined) throw new Error("the stream reported no cost");
  return chargeOf(cost);
}

function check(is: unknown, shouldBe: unknown, what: string): void {
  if (is !== shouldBe) throw new Error(`${what}: ${String(is)} instead of ${String(shouldBe)}`);
}

class Api {
  readonly #baseUrl: string;
  readonly #key: string;

  constructor(baseUrl: string, key: string) {
    this.#baseUrl = baseUrl;
    this.#key = key;
  }

  send(method: string, path: string, body?: unknown): Promise<Response> {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const headers = { authorization: `Bearer ${this.#key}`, ...type };
    return fetch(`${this.#baseUrl}${path}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  get(path: string): Promise<Response> {
    return this.#successful("GET", path);
  }

  post(path: string, body: unknown): Promise<Response> {
    return this.#successful("POST", path, body);
  }

  async credits(): Promise<bigint> {
    const { remaining_credits: text } = (await (await this.get("/v1/credits")).json()) as {
      remaining_credits: string;
    };
    return creditsOf(text);
  }

  async #successful(method: string, path: string, body?: unknown): Promise<Response> {
    const answer = await this.send(method, path, body);
    if (!answer.ok) throw new Error(`${method} ${path} returned ${answer.status}: ${await answer.text()}`);
    return answer;
  }
}
