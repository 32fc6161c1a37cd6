// A client that openapi-python-client generates from the description has every operation, compiles, and works.
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { descriptionPython, INSTALL_MS } from "./python-environment.ts";

const PACKAGE = "router_client";
/** Address without a receiver: the delivery is recorded and fails. */
const CALLBACK_URL = "http://127.0.0.1:9/hook";
/** The generator reads no pictures and no videos. */
const UNTYPED = new Set(["get_media_name", "get_v1_compat_videos_id_content"]);
const here = (file: string) => fileURLToPath(new URL(file, import.meta.url));

let router: Router;
let python: string;
let folder: string;
beforeAll(async () => {
  python = await descriptionPython();
  folder = await mkdtemp(join(tmpdir(), "generation-router-python-"));
  router = await startRouter("all-in-one", {
    sharedPostgres: true,
    env: { WEBHOOK_PRIVATE_ORIGINS: new URL(CALLBACK_URL).origin },
  });
}, INSTALL_MS);
afterAll(async () => {
  await router?.dispose();
  await rm(folder, { recursive: true, force: true });
});

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
}

test("the generated client has every operation, and each answers with the described type", async () => {
  const text = await (await fetch(`${router.baseUrl}/openapi.json`)).text();
  await writeFile(join(folder, "openapi.json"), text);
  const generate = ["generate", "--path", "openapi.json", "--meta", "none", "--output-path", PACKAGE];
  const printed = await run("-m", "openapi_python_client", ...generate);
  expect(printed).not.toMatch(/Endpoint will not be generated/);
  await run("-m", "compileall", "-q", PACKAGE);

  await copyFile(here("generated/client.py"), join(folder, "client.py"));
  const report = JSON.parse((await run("-B", "client.py")).trimEnd().split("\n").at(-1) ?? "");
  const { paths } = JSON.parse(text) as Described;
  const ids = Object.values(paths).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  );
  expect(Object.keys(report.answers).sort()).toEqual([...ids].sort());
  for (const [id, { status, type }] of Object.entries<{ status: number; type: string }>(report.answers)) {
    expect([id, Math.floor(status / 100)]).toEqual([id, 2]);
    if (!UNTYPED.has(id)) expect([id, type]).toEqual([id, expect.stringContaining(`Response${status}`)]);
  }
  expect(report).toMatchObject({
    chat: expect.stringContaining("“Is the sea blue?”"),
    response: expect.stringContaining("“Is the sea blue?”"),
    picture: "PNG",
    film: "ftyp",
    job: ["completed", true],
    made: [1, 1],
    models: ["sandbox/image", true, true],
    keys: [true, true],
    remaining: expect.stringMatching(/^\d+\.\d{4}$/),
    unknown: "model_not_found",
  });
  // Four images and videos, a chat and a response.
  expect(report.log).toBe(6);
});

async function run(...args: readonly string[]): Promise<string> {
  const { baseUrl: BASE_URL, apiKey: API_KEY, managementKey: MANAGEMENT_KEY } = router;
  // The generator formats its code with a program of the same environment.
  const PATH = [dirname(python), process.env["PATH"]].join(delimiter);
  const env = { PATH, BASE_URL, API_KEY, MANAGEMENT_KEY, CALLBACK_URL };
  try {
    const { stdout, stderr } = await promisify(execFile)(python, args, { cwd: folder, env });
    return `${stderr}${stdout}`;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${args.join(" ")} failed: ${stdout}${stderr}`);
  }
}
