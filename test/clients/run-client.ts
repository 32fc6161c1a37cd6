// RunClient runs one program by its section in docs/clients.md, with a key of its own from the first section: first
// word for word, then with a prompt that writes a file. Its key, home and folder are new, and it reaches this machine
// only.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { chargeOf, creditsOf, formatCredits } from "@gr/money";
import { until } from "@gr/testing";
import { pythonWith } from "../contract/python-environment.ts";
import { call, simulatorBill } from "../e2e/http.ts";
import type { Router } from "../e2e/topology.ts";
import { DOCUMENTED_URL, prepareFolder, type Sample, samplesPath } from "../guides/samples.ts";
import type { ClientProgram } from "./clients.ts";
import { installNpm } from "./npm-program.ts";

/** Section with the command that creates a key. */
export const KEY_SECTION = "A key for an agent";
const WRITTEN = "hello.txt";
/** The limit of the key in the document, in units of 1e-4 USD. */
const LIMIT = 5_000n;
/** Ends a program that hangs. */
const LONGEST_MS = 300_000;
const SETTLED = { timeoutMs: 60_000 };
/** A closed port: no program of this test may reach another machine. */
const NO_PROXY_THERE = "http://127.0.0.1:9";
const MARK = "GR_CLIENT_RUN";

export interface ClientRun {
  readonly version: string;
  /** Requests in the log of its key. */
  readonly requests: number;
  /** Their charge in USD. */
  readonly charged: string;
}

/** @throws Error with the output of the program, or with the figures that differ */
export async function runClient(
  router: Router,
  samples: readonly Sample[],
  client: ClientProgram,
  folder: string,
): Promise<ClientRun> {
  const programs = join(folder, "programs");
  await mkdir(programs);
  await linkProgram(client, programs);
  const inSection = samples.filter(({ section }) => section === client.section);
  const commands = inSection.filter(({ language }) => language === "sh").map(({ text }) => text);
  const place = { home: join(folder, "home"), work: join(folder, "work"), programs };
  await mkdir(place.home);
  await mkdir(place.work);
  await prepareFolder(place.work, router);
  await writeFile(join(place.home, ".curlrc"), await readFile(join(place.work, ".curlrc")));
  await writeSettings(inSection, place, router);

  const { items: before } = await simulatorBill(router);
  const documented = commands.join("\n");
  const scripted = withPrompt(documented, client.writing(join(place.work, WRITTEN)));
  const key = samples.find(({ section }) => section === KEY_SECTION)?.text ?? "";
  const output = await runScript(router, [key, 'printf %s "$API_KEY" > key', documented, scripted], place);
  const written = await readFile(join(place.work, WRITTEN), "utf8").catch(() => "");
  if (written.trim() !== "hello") throw new Error(`It wrote no ${WRITTEN}:\n${output}`);

  const secret = await readFile(join(place.work, "key"), "utf8");
  const figures = async () => {
    const billed = (await simulatorBill(router)).items.slice(before.length);
    const { body } = await call(router, "GET", "/v1/generations?kind=text&limit=100", { key: secret });
    const log = body.data as { status: string; cost: number }[];
    const charged = await spentBy(router, secret);
    return {
      bill: billed.reduce((sum, { picoUsd }) => sum + chargeOf(picoUsd), 0n),
      charged,
      logged: log.reduce((sum, { cost }) => sum + creditsOf(cost.toFixed(4)), 0n),
      requests: log.length,
      unlike: log.filter(({ status }) => status !== "succeeded").length,
    };
  };
  const agree = ({ bill, charged, logged, requests, unlike }: Awaited<ReturnType<typeof figures>>) =>
    bill > 0n && bill === charged && logged === charged && charged <= LIMIT && requests > 1 && unlike === 0;
  // The last request may be settled after the program has ended.
  await until(async () => agree(await figures()), SETTLED).catch(async () => {
    const text = JSON.stringify(await figures(), (_key, value) =>
      typeof value === "bigint" ? String(value) : value,
    );
    throw new Error(`Bill, charge and log differ: ${text}\n${output}`);
  });
  const { requests, charged } = await figures();
  return { version: client.source.version, requests, charged: formatCredits(charged) };
}

/** Links the command into a folder of its own. */
async function linkProgram({ command, source }: ClientProgram, programs: string): Promise<void> {
  const place = join(programs, command);
  if (!("requirements" in source)) {
    await symlink(join(await installNpm(source), "node_modules/.bin", command), place);
    return;
  }
  const python = await pythonWith(join(import.meta.dirname, source.requirements));
  await writeFile(place, `#!/bin/sh\nexec ${python} -m ${source.module} "$@"\n`);
  await chmod(place, 0o755);
}

interface Place {
  readonly home: string;
  readonly work: string;
  readonly programs: string;
}

/** Writes each block of settings into the file that the line in front of it names. */
async function writeSettings(samples: readonly Sample[], place: Place, router: Router): Promise<void> {
  for (const { language, before, text, line } of samples) {
    if (language !== "toml" && language !== "json") continue;
    const [, file] = /`([^`]+)`:$/.exec(before) ?? [];
    if (file === undefined) throw new Error(`line ${line}: no line names the file of these settings`);
    const path = file.startsWith("~/") ? join(place.home, file.slice(2)) : join(place.work, file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text.replaceAll(DOCUMENTED_URL, router.baseUrl));
  }
}

/** Replaces the prompt, which is the last text in double quotes. */
function withPrompt(commands: string, prompt: string): string {
  const at = commands.lastIndexOf('"', commands.lastIndexOf('"') - 1);
  const end = commands.lastIndexOf('"');
  return `${commands.slice(0, at)}'${prompt}'${commands.slice(end + 1)}`;
}

async function runScript(router: Router, parts: readonly string[], place: Place): Promise<string> {
  const mark = crypto.randomUUID();
  const text = ["set -e -o pipefail", ...parts].join("\n").replaceAll(DOCUMENTED_URL, router.baseUrl);
  const proxies = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
  const env = {
    PATH: `${place.programs}:${samplesPath()}`,
    HOME: place.home,
    TERM: "dumb",
    CI: "true",
    NO_PROXY: "127.0.0.1",
    no_proxy: "127.0.0.1",
    NODE_USE_ENV_PROXY: "1",
    [MARK]: mark,
    ...Object.fromEntries(proxies.map((name) => [name, NO_PROXY_THERE])),
  };
  const child = spawn("bash", ["-c", text], { cwd: place.work, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (piece: string) => {
      output += piece;
    });
  }
  const overdue = setTimeout(() => void endMarked(mark), LONGEST_MS);
  try {
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`It ended with ${code}:\n${output}`);
    return output;
  } finally {
    clearTimeout(overdue);
    await endMarked(mark);
  }
}

/** Ends the processes of one run: some programs start others that outlive them. */
async function endMarked(mark: string): Promise<void> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  for (const id of ids) {
    const environment = await readFile(`/proc/${id}/environ`, "utf8").catch(() => "");
    if (!environment.includes(`${MARK}=${mark}`)) continue;
    try {
      process.kill(Number(id), "SIGKILL");
    } catch (error) {
      // It has ended meanwhile.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** @returns the spend of a key, in units of 1e-4 USD */
async function spentBy(router: Router, key: string): Promise<bigint> {
  const { id } = (await call(router, "POST", "/v1/auth/test", { key })).body.api_key;
  const { usage_by_api_key: keys } = (await call(router, "GET", "/v1/credits?by_api_key=true")).body;
  const usage = (keys as { api_key_id: string; credit_usage: string }[]).find(
    ({ api_key_id }) => api_key_id === id,
  );
  return creditsOf(usage?.credit_usage ?? "0");
}
