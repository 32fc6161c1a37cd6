// The programs in examples/, run as they are. Each prints its result; the account pays exactly the bill of the simulator.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect } from "@jest/globals";
import { expectPaid } from "../e2e/expect-paid.ts";
import type { Router } from "../e2e/topology.ts";

const USD = "0\\.\\d+ USD";
const FILE = "http://127\\.0\\.0\\.1:\\d+/media/\\S+";

/** Output of each program, by its name in Node. */
const OUTPUT: Readonly<Record<string, RegExp>> = {
  "chat-stream": /“Describe a lighthouse at dawn\.”[\s\S]*\n\d+ tokens, \d[\d.e-]* USD\n$/,
  "image-edit": new RegExp(`^created ${FILE}, ${USD}\nedited ${FILE}, ${USD}\n$`),
  "video-async": new RegExp(`^(running.*\n)*succeeded.*\n${FILE}, ${USD}\n$`),
  "quote-limit": new RegExp(
    `^quoted ${USD}, exact\nlimit ${USD}: charged ${USD}\nlimit ${USD}: refused, max_cost_exceeded\n$`,
  ),
  "customer-key": new RegExp(
    `^key \\S+: 0\\.03 USD each month\n(charged ${USD}\n)+refused, spend_limit_exceeded\ndeleted\n$`,
  ),
};
export const examples = Object.keys(OUTPUT);

/** @param command a program and its arguments */
export async function expectExample(router: Router, name: string, command: readonly string[]): Promise<void> {
  const [program = "", ...args] = command;
  const env = {
    PATH: process.env["PATH"] ?? "",
    ROUTER_URL: router.baseUrl,
    API_KEY: router.apiKey,
    MANAGEMENT_KEY: router.managementKey,
  };
  const { stdout } = await expectPaid(router, () => promisify(execFile)(program, args, { env }));
  expect(stdout).toMatch(OUTPUT[name] ?? /$^/);
}
