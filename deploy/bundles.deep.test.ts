// The bundles of the images form a router, each with the environment of its manifest in the overlay ci. Only addresses
// differ: here all run on one machine. The kubelet, the network and the policies of a cluster are not tested.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startSimulator } from "@gr/simulator";
import { testDatabase, testRedis } from "@gr/testing";
import { afterAll, expect, test } from "@jest/globals";
import { verifyRouter } from "../test/cluster/verify-router.ts";
import { BundleFleet } from "../test/e2e/bundle-fleet.ts";
import { type Manifest, render } from "./render.ts";

const SERVICES = ["billing", "keys", "catalog", "text-proxy", "media-generation", "console", "gateway"];
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
  const fleet = await BundleFleet.build([...SERVICES, "cli"], {
    folder,
    databaseUrl: database.url,
    redisUrl: redis.url,
    simulatorUrl: simulator.url,
  });
  cleanUp.push(() => fleet.stop());

  const starting = SERVICES.map((name) => fleet.start(name, environmentOf(containerOf("Deployment", name))));
  const jobs = manifests.filter(({ kind }) => kind === "Job").map(({ metadata }) => metadata.name);
  for (const job of jobs) {
    const container = containerOf("Job", job);
    const program = job.replace("migrate-", "");
    const output = await fleet.run(program, container.args ?? [], environmentOf(container));
    expect(output).toMatch(/^[a-z_]+: applied /);
  }
  await Promise.all(starting);

  const steps: string[] = [];
  const secret = environmentOf(containerOf("Deployment", "gateway"))["INTERNAL_AUTH_SECRET"] ?? "";
  const rpc = { keysRpcUrl: fleet.rpcUrl("keys"), billingRpcUrl: fleet.rpcUrl("billing") };
  await verifyRouter({ baseUrl: fleet.publicUrl, ...rpc, secret }, (step) => steps.push(step));
  expect(steps).toHaveLength(6);

  const nightly = containerOf("CronJob", "verify-ledger");
  const verified = await fleet.run("cli", nightly.args ?? [], environmentOf(nightly));
  expect(verified).toMatch(/^The ledger is right: /);
});
