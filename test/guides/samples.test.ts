// Each sample for a shell or for JavaScript in README and in the guides runs as it is written, against one router. The
// account pays exactly the bill of its provider.
import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import { expectPaid } from "../e2e/expect-paid.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { DOCUMENTED_URL, GUIDES, isForOperators, runSamples, samplesOf } from "./samples.ts";

/** Blocks that other tests use: programs in Python, clients with their settings, output. */
const ELSEWHERE = ["python", "diff", "toml", "json", "yaml", "text"];

let router: Router;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  const env = { WEBHOOK_PRIVATE_ORIGINS: receiver.url };
  router = await startRouter("all-in-one", { inProcess: true, env });
});
afterAll(async () => {
  await router?.dispose();
  await receiver?.close();
});

interface Receiver {
  readonly url: string;
  /** Bodies of the messages. */
  readonly messages: string[];
  close(): Promise<void>;
}

/** Accepts webhooks. */
async function startReceiver(): Promise<Receiver> {
  const messages: string[] = [];
  const server = createServer(async (request, response) => {
    messages.push(await text(request));
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, messages, close };
}

const inShell = async (path: string) =>
  (await samplesOf(path)).filter((sample) => sample.language === "sh" && !isForOperators(sample));
const inJavaScript = async (path: string) =>
  (await samplesOf(path)).filter(({ language }) => language === "js");

test.each(["README.md", "docs/api.md"])("the commands of %s work in an empty folder", async (path) => {
  const samples = await inShell(path);
  expect(samples.length).toBeGreaterThan(0);
  await expectPaid(router, () => runSamples(router, samples, "bash"));
});

test.each([
  ["docs/api.md", /\nsucceeded http[\s\S]*\ntrue\n/],
  ["docs/clients.md", /“Describe a lighthouse\.”/],
])("the JavaScript of %s works as one file", async (path, printed) => {
  const samples = await inJavaScript(path);
  const output = await expectPaid(router, () => runSamples(router, samples, process.execPath));
  expect(output).toMatch(printed);
});

test("docs/api-videos.md: a job in JavaScript, and a receiver that checks the signature of a message", async () => {
  const secret = Buffer.from("a signing secret of 32 bytes ...");
  const body = '{"id":"evt_1","object":"event","type":"video.completed","data":{"id":"4711"}}';
  const seconds = String(Math.floor(Date.now() / 1_000));
  const signature = createHmac("sha256", secret).update(`evt_1.${seconds}.${body}`).digest("base64");
  const headers = {
    "webhook-id": "evt_1",
    "webhook-timestamp": seconds,
    "webhook-signature": `v1,${signature}`,
  };
  const output = await expectPaid(router, async () =>
    runSamples(router, await inJavaScript("docs/api-videos.md"), process.execPath, {
      env: { WEBHOOK_SECRET: `whsec_${secret.toString("base64")}` },
      last: `await receive(${JSON.stringify(body)}, ${JSON.stringify(headers)});`,
    }),
  );
  expect(output).toMatch(/^\d{3,} bytes\nvideo\.completed 4711\n$/);
});

test("docs/api-videos.md: a job with a callback sends the documented message", async () => {
  const samples = await inShell("docs/api-videos.md");
  await runSamples(router, samples, "bash", { receiver: receiver.url });
  await until(() => receiver.messages.length > 0, { timeoutMs: 120_000 });
  const [shown] = (await samplesOf("docs/api-videos.md")).filter(({ language }) => language === "json");
  const [sent, documented] = [receiver.messages[0] ?? "", shown?.text ?? ""].map((json) => JSON.parse(json));
  expect(Object.keys(sent)).toEqual(Object.keys(documented));
  expect(sent).toMatchObject({ type: documented.type, data: { kind: "video", status: "completed" } });
  expect(Object.keys(sent.data)).toEqual(Object.keys(documented.data));
});

describe.each(GUIDES)("%s", (path) => {
  test("has no sample in a language that no test runs", async () => {
    const known = ["sh", "js", ...ELSEWHERE];
    const others = (await samplesOf(path)).filter(({ language }) => !known.includes(language));
    expect(others.map(({ line, language }) => `${path}:${line} ${language}`)).toEqual([]);
  });
});

test("a command of a document that fails is reported with its line", async () => {
  const sample = { language: "sh", section: "", before: "", text: `curl ${DOCUMENTED_URL}/v1/no/such` };
  const samples = [
    { ...sample, line: 7, text: "true" },
    { ...sample, line: 9 },
  ];
  await expect(runSamples(router, samples, "bash")).rejects.toThrow(/line 7\nline 9\n[\s\S]*404/);
});

test("README shows the lines that the router prints at its start", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const shown = /```text\n([\s\S]*?)```/.exec(readme)?.[1]?.trim().split("\n") ?? [];
  const printed = router.output().replaceAll(router.baseUrl, DOCUMENTED_URL);
  expect(shown.length).toBeGreaterThan(1);
  for (const line of shown) expect(printed).toContain(line.trim());
});

test("the router serves each document that /llms.txt lists, compressed and with a tag", async () => {
  const overview = await (await fetch(`${router.baseUrl}/llms.txt`)).text();
  const paths = [...overview.matchAll(/\]\((\/[^)]+)\)/g)].map(([, path = ""]) => path);
  expect(paths).toEqual(expect.arrayContaining(["/docs/api.md", "/docs/clients.md", "/docs/errors.md"]));
  for (const path of [...paths, "/docs/api", "/docs/clients", "/docs/errors"]) {
    const { status, headers } = await fetch(router.baseUrl + path);
    expect([path, status]).toEqual([path, 200]);
    if (!path.startsWith("/docs/")) continue;
    expect([path, headers.get("content-encoding")]).toEqual([path, expect.stringMatching(/^(br|gzip)$/)]);
    expect(headers.get("etag")).toMatch(/"/);
  }
});
