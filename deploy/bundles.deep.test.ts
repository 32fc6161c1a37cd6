// The bundles of the images form a router, each with the environment of its manifest in the overlay ci. Only addresses
// differ: here all run on one machine. The kubelet, the network and the policies of a cluster are not tested.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@gr/embedded";
import { startSimulator } from "@gr/simulator";
import { startChild, type TestChild, testDatabase, testRedis } from "@gr/testing";
import { afterAll, expect, test } from "@jest/globals";
import { bundleProgram } from "../scripts/bundle.ts";
import { verifyRouter } from "../test/cluster/verify-router.ts";
import { type Manifest, render } from "./render.ts";

const SERVICES = ["billing", "keys", "catalog", "text-proxy", "media-generation", "console", "gateway"];
const run = promisify(execFile);
const manifests = render(join(import.meta.dirname, "overlays/ci"));
const cleanUp: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const step of cleanUp.toReversed()) await step();
});

interface Container {
  readonly args?: readonly string[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { name: string; key: string; optional?: boolean } };
  }[];
  readonly envFrom?: readonly { readonly configMapRef: { readonly name: string } }[];
}

interface JobSpec {
  readonly template?: { readonly spec: { readonly containers: readonly Container[] } };
}

function named(kind: string, name: string): Manifest | undefined {
  return manifests.find((one) => one.kind === kind && one.metadata.name === name);
}

function containerOf(kind: string, name: string): Container {
  const { jobTemplate, ...own } = (named(kind, name)?.["spec"] ?? {}) as JobSpec & {
    jobTemplate?: { spec: JobSpec };
  };
  const container = (jobTemplate?.spec ?? own).template?.spec.containers[0];
  if (container === undefined) throw new Error(`${kind} ${name} has no container`);
  return container;
}

/** Returns the environment as the kubelet builds it. */
function environmentOf({ env, envFrom = [] }: Container): Record<string, string> {
  const result: Record<string, string> = {};
  for (const { configMapRef } of envFrom)
    Object.assign(result, named("ConfigMap", configMapRef.name)?.["data"]);
  for (const { name, value, valueFrom } of env) {
    if (valueFrom === undefined) {
      result[name] = value ?? "";
      continue;
    }
    const { name: secret, key, optional } = valueFrom.secretKeyRef;
    const data = named("Secret", secret)?.["data"] as Record<string, string> | undefined;
    if (data?.[key] !== undefined) result[name] = Buffer.from(data[key], "base64").toString();
    else if (optional !== true) throw new Error(`there is no Secret ${secret} with ${key}`);
  }
  return result;
}

test("services that started before their schemas were there serve an account's whole life once the Jobs have run", async () => {
  const folder = await mkdtemp(join(tmpdir(), "bundles-"));
  cleanUp.push(() => rm(folder, { recursive: true, force: true }));
  const database = await testDatabase("empty");
  cleanUp.push(() => database.drop());
  const redis = await testRedis();
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  cleanUp.push(() => simulator.close());

  const places = new Map<string, { main: string; http: number; rpc: number }>();
  for (const name of SERVICES) {
    places.set(name, { main: await bundleProgram(name, join(folder, name)), http: 0, rpc: 0 });
  }
  for (const [name, { main }] of places) {
    places.set(name, { main, http: await freePort(), rpc: await freePort() });
  }
  const placeOf = (name: string) => places.get(name) ?? { main: "", http: 0, rpc: 0 };
  const url = (port: number) => `http://127.0.0.1:${port}`;
  const publicPort = await freePort();
  const addresses = Object.fromEntries(
    [...places].flatMap(([name, { http, rpc }]) => {
      const prefix = name.toUpperCase().replaceAll("-", "_");
      return [[`${prefix}_HTTP_URL`, url(http)] as const, [`${prefix}_RPC_URL`, url(rpc)] as const];
    }),
  );
  const here = (env: Record<string, string>): Record<string, string> => ({
    ...Object.fromEntries(
      Object.entries(env).map(([name, value]) => [
        name,
        value.replace("http://simulator:8090", simulator.url),
      ]),
    ),
    ...("DATABASE_URL" in env ? { DATABASE_URL: database.url } : {}),
    ...("REDIS_URL" in env ? { REDIS_URL: redis.url } : {}),
    ...("DATA_DIR" in env ? { DATA_DIR: join(folder, "data") } : {}),
    ...("HOST" in env ? { HOST: "127.0.0.1", PORT: String(publicPort) } : {}),
  });
  await mkdir(join(folder, "data"));

  const starting = SERVICES.map((name): Promise<TestChild> => {
    const { main, http, rpc } = placeOf(name);
    const env = here(environmentOf(containerOf("Deployment", name)));
    const own = {
      ...addresses,
      SERVICE_HOST: "127.0.0.1",
      SERVICE_RPC_PORT: String(rpc),
      LOG_LEVEL: "silent",
    };
    const child = startChild(main, { ...env, ...own }, http);
    // It ends with the test, regardless of the others.
    cleanUp.push(async () => (await child.catch(() => undefined))?.kill());
    return child;
  });
  const jobs = manifests.filter(({ kind }) => kind === "Job").map(({ metadata }) => metadata.name);
  for (const job of jobs) {
    const container = containerOf("Job", job);
    const { main } = placeOf(job.replace("migrate-", ""));
    const { stdout } = await run(process.execPath, [main, ...(container.args ?? [])], {
      env: here(environmentOf(container)),
    });
    expect(stdout).toMatch(/^[a-z_]+: applied /);
  }
  await Promise.all(starting);

  const steps: string[] = [];
  const secret = environmentOf(containerOf("Deployment", "gateway"))["INTERNAL_AUTH_SECRET"] ?? "";
  const rpc = { keysRpcUrl: url(placeOf("keys").rpc), billingRpcUrl: url(placeOf("billing").rpc) };
  await verifyRouter({ baseUrl: url(publicPort), ...rpc, secret }, (step) => steps.push(step));
  expect(steps).toHaveLength(6);

  const nightly = containerOf("CronJob", "verify-ledger");
  const cli = await bundleProgram("cli", join(folder, "cli"));
  const { stdout } = await run(process.execPath, [cli, ...(nightly.args ?? [])], {
    env: { ...here(environmentOf(nightly)), BILLING_RPC_URL: url(placeOf("billing").rpc) },
  });
  expect(stdout).toMatch(/^The ledger is right: /);
});
