// Expected results of every client of the router, regardless of its author, and their cost.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { chargeOf } from "@gr/money";
import { until } from "@gr/testing";
import { expect } from "@jest/globals";
import sharp from "sharp";
import { remainingCredits, simulatorBill } from "../e2e/http.ts";
import type { Router } from "../e2e/topology.ts";

/** Results of one API in a client. */
interface ApiReport {
  /** The answer to `Is the sea blue?`. */
  readonly text: string;
  /** The same, streamed: its pieces. */
  readonly pieces: readonly string[];
  /** The call for `What is the weather like in Paris today?`, and the answer after the tool's result. */
  readonly tool: { readonly name: string; readonly arguments: unknown; readonly answer: string };
  /** The answer to `Meet Jane, who is 54.` with the schema of a person. */
  readonly structured: unknown;
  /** The answer about the picture. */
  readonly vision: string;
}

interface ClientReport {
  readonly chat: ApiReport;
  /** Null if the client does not support the Responses API. */
  readonly responses: ApiReport | null;
  /** Status in the client's own error for a model that does not exist. */
  readonly unknownModel: number;
  /** Text that had arrived of a long stream when the client aborted it. */
  readonly abortedAfter: string;
}

/** Tokens of the aborted stream, and their least cost. */
const LONG_ANSWER = 16_000;
const LONG_ANSWER_COST = BigInt(LONG_ANSWER) * 1_500_000n;
const PATIENCE = { timeoutMs: 120_000 };

/** Runs one client to its end and checks all of its results. @param command a program and its arguments */
export async function expectKept(router: Router, command: readonly [string, ...string[]]): Promise<void> {
  const creditsBefore = await remainingCredits(router);
  const { items: before } = await simulatorBill(router);
  const report = (await reportOf(router, command)) as ClientReport;
  expectApi(report.chat);
  if (report.responses !== null) expectApi(report.responses);
  expect(report.unknownModel).toBe(404);
  expect(report.abortedAfter.length).toBeGreaterThan(0);

  const billed = async () => (await simulatorBill(router)).items.slice(before.length);
  // The aborted stream is billed last.
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

/** Runs one client to its end. @returns the JSON of its last line */
export async function reportOf(
  router: Router,
  [program, ...args]: readonly [string, ...string[]],
): Promise<unknown> {
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
  return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "");
}
