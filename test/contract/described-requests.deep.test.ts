// Requests that schemathesis generates from the description: no server error, no undocumented status, and the answers of
// more than a thousand generations fit the description.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { DepositStatus } from "@gr/proto/billing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { billingOf } from "../e2e/operator.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { descriptionPython, INSTALL_MS } from "./python-environment.ts";

const SETTINGS = fileURLToPath(new URL("./python/requests/", import.meta.url));
const QUICK = "100000";
const RUN_MS = 1_800_000;
/** Generations, not quotes. */
const MADE = /^POST POST \/v1\/compat\/(?:chat\/completions|responses|images\/\w+|videos\/generations) 200$/;

let router: Router;
let python: string;
let folder: string;
beforeAll(async () => {
  python = await descriptionPython();
  folder = await mkdtemp(join(tmpdir(), "generation-router-requests-"));
  const limits = ["TEXT", "MEDIA", "OTHER", "DOWNLOADS", "ANONYMOUS"];
  const env = Object.fromEntries(limits.map((name) => [`RATE_LIMIT_${name}_PER_SECOND`, QUICK]));
  router = await startRouter("all-in-one", {
    sharedPostgres: true,
    env: { ...env, FREE_REQUESTS_PER_DAY: QUICK },
  });
  const billing = await billingOf(router.dataDir);
  await billing.putDeposit({
    depositId: randomUUID(),
    accountId: router.accountId,
    credits: 1_000_000_000n,
    status: DepositStatus.COMPLETED,
    source: "test",
  });
}, INSTALL_MS);
afterAll(async () => {
  await router?.dispose();
  await rm(folder, { recursive: true, force: true });
});

test(
  "every operation answers as described, whatever is asked of it",
  async () => {
    const tally = join(folder, "tally.json");
    const settings = join(SETTINGS, "schemathesis.toml");
    const args = [
      "-m",
      "schemathesis.cli",
      "--config-file",
      settings,
      "--no-color",
      "run",
      `${router.baseUrl}/openapi.json`,
    ];
    const env = {
      ...{ PATH: process.env["PATH"] ?? "", PYTHONPATH: SETTINGS, SCHEMATHESIS_HOOKS: "hooks", TALLY: tally },
      ...{ API_KEY: router.apiKey, MANAGEMENT_KEY: router.managementKey, PYTHONDONTWRITEBYTECODE: "1" },
    };
    const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
    const printed = await promisify(execFile)(python, [...args], options).catch(
      ({ stdout, stderr }: { stdout: string; stderr: string }) => {
        throw new Error(`schemathesis has findings:\n${stdout}${stderr}`);
      },
    );
    const answers = Object.entries<number>(JSON.parse(await readFile(tally, "utf8")));
    const sum = (wanted: (name: string) => boolean) =>
      answers.reduce((total, [name, count]) => total + (wanted(name) ? count : 0), 0);
    const operations = new Set(answers.map(([name]) => name.split(" ").slice(1, 3).join(" ")));
    const document = (await (await fetch(`${router.baseUrl}/openapi.json`)).json()) as { paths: object };
    const described = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const [, cases] = /(\d+) generated/.exec(printed.stdout) ?? [];
    const figures = {
      cases: Number(cases),
      answers: sum(() => true),
      generations: sum((name) => MADE.test(name)),
    };
    process.stdout.write(`${JSON.stringify(figures)}\n`);
    expect([...operations].sort()).toEqual(described.sort());
    expect(printed.stdout).toMatch(/(\d+) generated, \1 passed/);
    expect(sum((name) => /5\d\d$/.test(name))).toBe(0);
    expect(sum((name) => MADE.test(name))).toBeGreaterThanOrEqual(1_000);
    expect(sum(() => true)).toBeGreaterThan(3_000);
  },
  RUN_MS,
);
