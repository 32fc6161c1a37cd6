// Each captured error answer of a provider, read by that provider's adapter: the side at fault, the client's error,
// the next provider, and the booked cost.
import { CAPTURED_ANSWERS, type CapturedAnswer } from "@gr/simulator/captured-answers";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { callerError, fallsBack } from "../generation/caller-error.ts";
import { jobOf } from "../test/adapter-bench.ts";
import { type ScriptedServer, startScriptedServer } from "../test/scripted-server.ts";
import { mediaProviders } from "./media-providers.ts";
import { createOutbound, type Outbound } from "./outbound.ts";
import { type MediaProvider, type Operation, submitJob } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

interface Expected {
  readonly kinds: readonly string[];
  readonly reason: string;
  /** True if a submission with this answer is sent to the next provider. */
  readonly fallBack: boolean;
}

const EXPECTED: Readonly<Record<CapturedAnswer["about"], Expected>> = {
  account: { kinds: ["misconfigured"], reason: "provider_unavailable", fallBack: true },
  moderation: { kinds: ["blocked"], reason: "content_policy_violation", fallBack: false },
  load: { kinds: ["rate_limited", "unavailable"], reason: "provider_unavailable", fallBack: true },
  request: { kinds: ["rejected"], reason: "rejected_by_provider", fallBack: false },
  server: { kinds: ["failed"], reason: "provider_error", fallBack: true },
};

/** Bills in these answers, in pico-USD. No other answer states one. */
const BILLS: Readonly<Record<string, bigint>> = {
  "xai/moderation-output-billed": 50_000_000_000n,
  "xai/moderation-output-billed-coded": 90_000_000_000n,
};
/** Pauses that these answers request, in milliseconds. */
const PAUSES: Readonly<Record<string, number>> = {
  "gemini/rate-limit": 32_000,
  "replicate/rate-limit": 10_000,
};

let server: ScriptedServer;
let outbound: Outbound;
beforeEach(async () => {
  server = await startScriptedServer();
  outbound = createOutbound();
});
afterEach(async () => {
  await outbound.close();
  await server.close();
});

function providerNamed(name: string): MediaProvider {
  const definition = mediaProviders.find((each) => each.name === name);
  if (definition === undefined) throw new Error(`there is no provider ${name}`);
  const settings = Object.fromEntries(Object.keys(definition.baseUrls).map((each) => [each, server.url]));
  return definition.create({ secret: "sk-secret", settings, outbound });
}

/** Operation of each adapter for a job. */
const operationAt = (url: string): Operation => ({
  video: "v",
  poll: `${url}/poll`,
  status: `${url}/status`,
  response: `${url}/response`,
  cancel: `${url}/cancel`,
  id: "p",
  kind: "video",
  task: "T",
  interaction: "i",
});

async function failureFor({ name, at, status, body }: CapturedAnswer): Promise<ProviderError> {
  const provider = providerNamed(name.split("/")[0] ?? "");
  server.play({ status, body: body === undefined ? "" : (body as object) });
  const { signal } = new AbortController();
  const asked =
    at === "poll"
      ? provider.poll(operationAt(server.url), signal)
      : submitJob(provider, jobOf("image", { model: "flux-2-pro" }), signal);
  const error = await asked.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof ProviderError)) throw new Error(`${name} is no failure`);
  return error;
}

describe("a captured answer", () => {
  test.each(CAPTURED_ANSWERS.map((answer) => [answer.name, answer] as const))("%s", async (name, answer) => {
    const { about, at, status } = answer;
    const { kinds, reason, fallBack } = EXPECTED[about];
    const failure = await failureFor(answer);
    expect(kinds).toContain(failure.kind);
    const refusal = callerError(failure.kind, failure.message, failure);
    expect(refusal.reason).toBe(reason);
    expect(fallsBack(failure)).toBe(fallBack && at === "submit");
    expect(failure.usage?.billed).toBe(BILLS[name]);
    if (BILLS[name] !== undefined) expect(failure.accepted).toBe(true);
    if (about === "load" || about === "account") expect(refusal.retryAfterMs).toBeGreaterThan(0);
    if (PAUSES[name] !== undefined) expect(refusal.retryAfterMs).toBe(PAUSES[name]);
    expect(failure.status ?? status).toBe(status);
  });

  test("of every provider names its source, and there is one about the key of each", () => {
    expect(CAPTURED_ANSWERS.filter(({ source }) => source.length < 10)).toEqual([]);
    const keys = CAPTURED_ANSWERS.map(({ name }) => name).filter((name) => name.endsWith("/bad-key"));
    expect(keys).toEqual(mediaProviders.map(({ name }) => `${name}/bad-key`).sort());
  });
});
