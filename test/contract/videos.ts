// Expected results of each client that supports videos as jobs, and their cost: 0.06 USD for each second of a delivered video.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { until } from "@gr/testing";
import { expect } from "@jest/globals";
import sharp from "sharp";
import { remainingCredits } from "../e2e/http.ts";
import type { Router } from "../e2e/topology.ts";

interface VideoReport {
  /** Statuses as the client has seen them, without repeats. */
  readonly statuses: readonly string[];
  readonly seconds: string;
  readonly progress: number;
  /** First bytes of the downloaded file, in hex. */
  readonly beginning: string;
  readonly size: number;
  /** The list has the finished video. */
  readonly listed: boolean;
  readonly deleted: boolean;
  /** Status of a request for the deleted video. */
  readonly afterwards: number;
  /** Status of a download before the end. */
  readonly early: number;
}

const CREDITS_PER_SECOND = 600n;
const SECONDS = 2n;
/** Box of the type of an MP4, after its length. */
const MP4 = Buffer.from("ftyp").toString("hex");

/** Runs one client to its end and checks all of its results. @param command a program and its arguments */
export async function expectVideos(
  router: Router,
  [program, ...args]: readonly [string, ...string[]],
): Promise<void> {
  const before = await remainingCredits(router);
  const picture = { width: 64, height: 64, channels: 3, background: "#10a010" } as const;
  const png = await sharp({ create: picture }).png().toBuffer();
  const { stdout } = await promisify(execFile)(program, args, {
    env: {
      PATH: process.env["PATH"] ?? "",
      BASE_URL: `${router.baseUrl}/v1/compat`,
      API_KEY: router.apiKey,
      PICTURE: png.toString("base64"),
    },
  });
  const report = JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as VideoReport;
  expect(report).toMatchObject({
    seconds: String(SECONDS),
    progress: 100,
    listed: true,
    deleted: true,
    afterwards: 404,
    early: 409,
  });
  expect(report.statuses.at(-1)).toBe("completed");
  expect(["queued", "in_progress"]).toContain(report.statuses[0]);
  expect(report.beginning.slice(8, 16)).toBe(MP4);
  expect(report.size).toBeGreaterThan(100);
  await until(async () => before - (await remainingCredits(router)) === CREDITS_PER_SECOND * SECONDS, {
    timeoutMs: 60_000,
  });
}
