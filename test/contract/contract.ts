// What every client of the router sees, whoever wrote it, and what that costs.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { chargeOf } from "@gr/money";
import { until } from "@gr/testing";
import { expect } from "@jest/globals";
import sharp from "sharp";
import { remainingCredits, simulatorBill } from "../e2e/http.ts";
import type { Router } from "../e2e/topology.ts";

/** One API, as a client saw it. */
interface ApiReport {
  /** The answer to "Is the sea blue?". */
  readonly text: string;
  /** The same, streamed: its pieces. */
  readonly pieces: readonly string[];
  /** What is called for "What is the weather like in Paris today?", and what is said once the tool has answered. */
  readonly tool: { readonly name: string; readonly arguments: unknown; readonly answer: string };
  /** The answer to "Meet Jane, who is 54." with the schema of a person. */
  readonly structured: unknown;
  /** What is said of the picture. */
  readonly vision: string;
}

interface ClientReport {
  readonly chat: ApiReport;
  /** Null where the client does not know the Responses API. */
  readonly responses: ApiReport | null;
  /** The status that the client's own error has for a model that does not exist. */
  readonly unknownModel: number;
  /** What had arrived of a long stream when the client gave it up. */
  readonly abortedAfter: string;
}

/** The tokens of the stream that is given up, and what they cost at the least. */
const LONG_ANSWER = 16_000;
const LONG_ANSWER_COST = BigInt(LONG_ANSWER) * 1_500_000n;
const PATIENCE = { timeoutMs: 120_000 };

/** Runs one client to its end and looks at everything that it saw. @param command a program and its arguments */
export async function expectKept(
  router: Router,
  [program, ...args]: readonly [string, ...string[]],
): Promise<void> {
  const creditsBefore = await remainingCredits(router);
  const { items: before } = await simulatorBill(router);
  const report = await runClient(router, program, args);
  expectApi(report.chat);
  if (report.responses !== null) expectApi(report.responses);
  expect(report.unknownModel).toBe(404);
  expect(report.abortedAfter.length).toBeGreaterThan(0);

  const billed = async () => (await simulatorBill(router)).items.slice(before.length);
  // The stream that was given up is billed last.
  await until(async () => (await billed()).some(({ picoUsd }) => picoUsd >= LONG_ANSWER_COST), PATIENCE);
  const charges = (await billed()).reduce((sum, { picoUsd }) => sum + chargeOf(picoUsd), 0n);
  await until(async () => creditsBefore - (await remainingCredits(router)) >= charges, PATIENCE);
  expect(creditsBefore - (await remainingCredits(router))).toBe(charges);
}

function expectApi({ text, pieces, tool, structured, vision }: ApiReport): void {
  expect(text).toContain("“Is the sea blue?”");
  expect(pieces.length).toBeGreaterThan(10);
  expect(pieces.join("")).toBe(text);
  expect(tool).toMatchObject({ name: "get_weather", arguments: { city: "Paris" } });
  expect(tool.answer).toContain("18 degrees and sunny");
  expect(structured).toEqual({ name: "Jane", age: 54 });
  expect(vision).toContain("30 × 20 pixels, PNG, mostly red");
}

async function runClient(router: Router, program: string, args: readonly string[]): Promise<ClientReport> {
  const picture = { width: 30, height: 20, channels: 3, background: "#d01010" } as const;
  const png = await sharp({ create: picture }).png().toBuffer();
  const { stdout } = await promisify(execFile)(program, args, {
    env: {
      PATH: process.env["PATH"] ?? "",
      BASE_URL: `${router.baseUrl}/v1/compat`,
      API_KEY: router.apiKey,
      PICTURE: `data:image/png;base64,${png.toString("base64")}`,
      LONG_QUESTION: `Talk to me. #tokens=${LONG_ANSWER}`,
    },
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as ClientReport;
}
