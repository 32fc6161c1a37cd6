// compose.yaml as a newcomer uses it: .env.example filled in, all services up and healthy, the one command to a first API key, and a
// request with that key. The bundles of the images run here without containers: names of hosts, volumes and limits are not tested.
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseEnv, promisify } from "node:util";
import { startSimulator } from "@gr/simulator";
import { testDatabase, testRedis } from "@gr/testing";
import { afterAll, expect, test } from "@jest/globals";
import { parse } from "yaml";
import { BundleFleet } from "../test/e2e/bundle-fleet.ts";

interface Service {
  readonly build?: { readonly args: { readonly SERVICE: string } };
  readonly image: string;
  readonly profiles?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly env_file?: readonly string[];
  readonly mem_limit?: string;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
}

const ROOT = join(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const { services } = parse(read("compose.yaml"), { merge: true }) as { services: Record<string, Service> };
const cleanUp: (() => Promise<unknown>)[] = [];

afterAll(async () => {
  for (const step of cleanUp.toReversed()) await step();
});

/** Returns .env.example with a random value for each empty secret. */
function filledIn(): Record<string, string> {
  const values = parseEnv(read(".env.example")) as Record<string, string>;
  for (const name of ["INTERNAL_AUTH_SECRET", "KEY_PEPPER", "CONSOLE_SECRET", "POSTGRES_PASSWORD"])
    values[name] ||= randomBytes(32).toString("hex");
  return values;
}

/** Replaces ${NAME}, ${NAME:-default} and ${NAME:?problem} as compose does. */
function interpolate(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_all, name: string, kind?: string, rest = "") => {
    const value = values[name] ?? "";
    if (value === "" && kind === "?") throw new Error(`${name} ${rest}`);
    return value === "" && kind === "-" ? rest : value;
  });
}

function environmentOf(name: string, values: Readonly<Record<string, string>>): Record<string, string> {
  const { environment = {}, env_file: files = [] } = services[name] as Service;
  const merged: Record<string, string> = {};
  for (const file of files) Object.assign(merged, parseEnv(read(interpolate(file, values))));
  for (const [variable, value] of Object.entries(environment)) merged[variable] = interpolate(value, values);
  return merged;
}

test("compose leads from an example of settings to an answered request in one command", async () => {
  const values = filledIn();
  const folder = await mkdtemp(join(tmpdir(), "compose-"));
  cleanUp.push(() => rm(folder, { recursive: true, force: true }));
  const database = await testDatabase("compose");
  cleanUp.push(() => database.drop());
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  cleanUp.push(() => simulator.close());
  const built = Object.entries(services).filter(([, { build }]) => build !== undefined);
  for (const [name, { build }] of built) expect(build?.args.SERVICE).toBe(name);
  const running = built.flatMap(([name, { profiles }]) => (profiles === undefined ? [name] : []));
  const fleet = await BundleFleet.build([...running, "cli"], {
    folder,
    databaseUrl: database.url,
    redisUrl: (await testRedis()).url,
    simulatorUrl: simulator.url,
  });
  cleanUp.push(() => fleet.stop());
  await Promise.all(running.map((name) => fleet.start(name, environmentOf(name, values))));
  for (const name of running) {
    const [, program, ...args] = services[name]?.healthcheck?.test ?? [];
    expect(program).toBe("/nodejs/bin/node");
    const here = args.map((arg) => arg.replace(":8081/", `:${fleet.httpPort(name)}/`));
    await promisify(execFile)(process.execPath, here);
  }

  const [command = ""] =
    /^# {3}docker compose run --rm cli (.*)$/m.exec(read("compose.yaml"))?.slice(1) ?? [];
  const output = await fleet.run("cli", command.split(" "), environmentOf("cli", values));
  const [apiKey = ""] = /shown this once: (\S+)/.exec(output)?.slice(1) ?? [];
  expect(output).toContain(`\n${values["PUBLIC_BASE_URL"]}/`);
  const answer = await fetch(`${fleet.publicUrl}/v1/compat/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "sandbox/chat", messages: [{ role: "user", content: "hi" }] }),
  });
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ object: "chat.completion" });
});

test("each container has a limit of memory, and each image of others an exact version", () => {
  for (const [name, { mem_limit: limit, image, build }] of Object.entries(services)) {
    expect({ name, limit }).toEqual({ name, limit: expect.stringMatching(/^\d+[mg]$/) });
    if (build === undefined) expect(image).toMatch(/:\d+\.\d+(\.\d+)?$/);
  }
});
