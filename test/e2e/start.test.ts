// `npm start` for an operator: clear refusals, a clean stop, data that survives.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startAllInOne } from "@gr/all-in-one";
import { sentenceOf } from "@gr/runtime";
import { until, warmStart } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "@jest/globals";
import { call, remainingCredits } from "./http.ts";
import { migratedDatabase } from "./migrated-database.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const MAIN = fileURLToPath(new URL("../../apps/all-in-one/src/main.ts", import.meta.url));

/** Runs the all-in-one until it ends by itself. */
function runToEnd(env: Record<string, string>): Promise<{ code: number | null; stderr: string }> {
  const child = spawn(process.execPath, [MAIN], {
    env: { PATH: process.env["PATH"] ?? "", ...warmStart(), ...env },
  });
  let stderr = "";
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve) => child.once("exit", (code) => resolve({ code, stderr })));
}

/** Live processes that have this data directory in their command line or environment. */
async function processesOf(dataDir: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name) && name !== String(process.pid));
  const found = await Promise.all(
    pids.map(async (pid) => {
      try {
        const [command, environment, status] = await Promise.all(
          ["cmdline", "environ", "stat"].map((file) => readFile(`/proc/${pid}/${file}`, "utf8")),
        );
        const zombie = / Z /.test(status ?? "");
        return !zombie && `${command}${environment}`.includes(dataDir) ? [`${pid} ${command}`] : [];
      } catch {
        // The process ended while we looked at it.
        return [];
      }
    }),
  );
  return found.flat();
}

/** Tests of one installation, from its first start to its last. */
describe.each(topologiesByDepth)("an installation (%s)", (topology) => {
  let dataDir: string;
  let router: Router;
  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "generation-router-start-"));
    router = await startRouter(topology, { dataDir });
  });
  afterAll(async () => {
    await router?.dispose();
    await rm(dataDir, { recursive: true, force: true });
  });
  const noProcessLeft = () =>
    until(async () => (await processesOf(dataDir)).length === 0, { timeoutMs: 60_000 });

  test("the curl in the banner works when pasted; secrets are their owner's only, and not in what a log keeps", async () => {
    const curl = router.output().match(/curl [\s\S]*?'\{.*\}'/)?.[0] ?? "";
    for (const secret of [router.apiKey, router.managementKey]) expect(router.output()).not.toContain(secret);
    const environment = { PATH: process.env["PATH"] ?? "", API_KEY: router.apiKey };
    const child = spawn("sh", ["-c", curl.replace("curl", "curl -sS")], { env: environment });
    let answer = "";
    child.stdout.on("data", (chunk) => {
      answer += chunk;
    });
    await new Promise((resolve) => child.once("close", resolve));
    expect(JSON.parse(answer).data[0].url).toContain(router.baseUrl);
    for (const file of ["credentials.json", "secrets.json", "runtime.json"]) {
      expect((await stat(join(dataDir, file))).mode & 0o777).toBe(0o600);
    }
  });

  test("a second router on the same data directory is refused in one sentence", async () => {
    const { code, stderr } = await runToEnd({ DATA_DIR: dataDir, PORT: "0", SIMULATOR_PORT: "0" });
    expect(code).not.toBe(0);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(/in use|running/);
  });

  test("SIGTERM ends it with exit code 0 and leaves no process; account, keys, credit and images survive", async () => {
    const { body: image } = await call(router, "POST", "/v1/compat/images/generations", {
      body: { model: "sandbox/image", prompt: "a bridge", size: "1024x1024" },
    });
    const credits = await remainingCredits(router);
    const { apiKey, managementKey } = router;
    const path = new URL(image.data[0].url).pathname;
    expect(await processesOf(dataDir)).not.toEqual([]);
    expect(await router.stop()).toBe(0);
    await noProcessLeft();
    router = await startRouter(topology, { dataDir });
    expect({ apiKey: router.apiKey, managementKey: router.managementKey }).toEqual({ apiKey, managementKey });
    expect(await remainingCredits(router)).toBe(credits);
    expect((await fetch(`${router.baseUrl}${path}`)).status).toBe(200);
    expect(router.output()).not.toContain(apiKey);
  });

  test("kill -9 leaves no process behind either", async () => {
    await router.kill();
    await noProcessLeft();
  });
});

describe("a start that fails", () => {
  // The topologies do not differ in it.
  if (byDepth({ quick: false, deep: true })) return;

  const directories: string[] = [];
  const newDirectory = async () => {
    const directory = await mkdtemp(join(tmpdir(), "generation-router-start-"));
    directories.push(directory);
    return directory;
  };
  afterEach(async () => {
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
  });

  test("a port in use, an unreachable database and bad settings are one sentence each, without a stack trace", async () => {
    // It reads, so that it notices the end of its client.
    const blocker = createServer((socket) => socket.resume()).listen(0, "127.0.0.1");
    await new Promise((resolve) => blocker.once("listening", resolve));
    const occupied = String((blocker.address() as { port: number }).port);
    // A PostgreSQL of its own for each start would only cost time.
    const database = await migratedDatabase();
    const base = { SIMULATOR_PORT: "0", DATABASE_URL: database.url, LOG_LEVEL: "silent" };
    const outcomes = [
      { problem: { PORT: occupied }, says: /PORT/ },
      {
        problem: { PORT: "0", DATABASE_URL: `postgres://nobody:x@127.0.0.1:${occupied}/none` },
        says: /PostgreSQL at/,
      },
      { problem: { PORT: "http", DATABASE_URL: "mysql://x" }, says: /PORT.*DATABASE_URL|DATABASE_URL.*PORT/ },
      { problem: { PORT: "0", SIMULATOR_PORT: occupied }, says: /in use; set SIMULATOR_PORT to/ },
      { problem: { PORT: "0", DATA_DIR: "/dev/null/data" }, says: /set DATA_DIR to/ },
      // An address that is reserved for documents: no machine has it.
      { problem: { PORT: "0", HOST: "203.0.113.1" }, says: /change HOST/ },
    ];
    // `npm start` prints the message of the error as its sentence (packages/runtime/src/run-until-signal.test.ts).
    const attempts = outcomes.map(async ({ problem, says }) => {
      const env = { ...base, DATA_DIR: await newDirectory(), ...problem };
      const started = startAllInOne(env, { isTerminal: false, print: () => undefined });
      const sentence = await started.then(() => "the router has started", sentenceOf);
      expect(sentence).toMatch(says);
      expect(sentence.trim().split("\n")).toHaveLength(1);
    });
    await Promise.all(attempts);
    blocker.close();
    await database.drop();
  });
});
