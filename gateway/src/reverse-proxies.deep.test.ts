// The configurations of docs/reverse-proxies.md as they are printed there, in front of a gateway: only addresses and TLS
// are replaced.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, until } from "@gr/testing";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { Seen } from "./test/fake-modules.ts";
import { type Ring, startRing } from "./test/ring.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/reverse-proxies.md"), "utf8");
/** Not the proxy's own address, so that the client's is another. */
const CLIENT = "127.0.0.2";
const CHAT = "/v1/compat/chat/completions";
const MB = 1024 * 1024;

interface Proxy {
  readonly name: "nginx" | "caddy";
  /** Text of the page, and its replacement in the test. */
  readonly replaced: (gateway: string, listen: string) => [string | RegExp, string][];
  readonly around: (config: string, folder: string) => string;
  readonly args: (file: string) => string[];
}

const proxies: readonly Proxy[] = [
  {
    name: "nginx",
    replaced: (gateway, listen) => [
      ["127.0.0.1:8080", gateway],
      ["listen 443 ssl http2", `listen ${listen}`],
      [/ssl_certificate \S+;/, ""],
      [/ssl_certificate_key \S+;/, ""],
    ],
    around: (config, folder) =>
      [
        ...(process.getuid?.() === 0 ? ["user root;"] : []),
        `daemon off; worker_processes 1; error_log stderr; pid ${folder}/pid; events {}`,
        "http { access_log off;",
        ...["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
          (of) => `${of}_temp_path ${folder}/${of};`,
        ),
        config,
        "}",
      ].join("\n"),
    args: (file) => ["-c", file, "-e", "stderr"],
  },
  {
    name: "caddy",
    replaced: (gateway, listen) => [
      ["127.0.0.1:8080", gateway],
      ["api.example.com", `http://${listen}`],
    ],
    around: (config) => `{\n\tadmin off\n\tauto_https off\n}\n${config}`,
    args: (file) => ["run", "--adapter", "caddyfile", "--config", file],
  },
];

function documented({ name, replaced }: Proxy, gateway: string, listen: string): string {
  const [, block = ""] = new RegExp(`^\`\`\`${name}$([\\s\\S]*?)^\`\`\`$`, "m").exec(PAGE) ?? [];
  return replaced(gateway, listen).reduce((config, [text, other]) => {
    const result = config.replace(text, other);
    if (result === config) throw new Error(`the page's configuration of ${name} has no ${text}`);
    return result;
  }, block);
}

/** @throws with the command that installs the program */
function requireProgram(name: string): void {
  try {
    execFileSync("sh", ["-c", `command -v ${name}`]);
  } catch {
    throw new Error(`${name} is missing: apt-get install --no-install-recommends ${name}`);
  }
}

describe.each(proxies)("the documented $name", (proxy) => {
  let ring: Ring;
  let child: ChildProcess;
  let folder: string;
  let baseUrl: string;

  beforeAll(async () => {
    requireProgram(proxy.name);
    ring = await startRing("one process", { TRUSTED_PROXIES: "127.0.0.1" });
    folder = mkdtempSync(join(tmpdir(), "reverse-proxy-"));
    const listen = `127.0.0.1:${await freePort()}`;
    baseUrl = `http://${listen}`;
    const file = join(folder, "config");
    writeFileSync(file, proxy.around(documented(proxy, new URL(ring.baseUrl).host, listen), folder));
    const env = { ...process.env, HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder };
    child = spawn(proxy.name, proxy.args(file), { env, stdio: ["ignore", "ignore", "pipe"] });
    let output = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`${proxy.name} has ended: ${output}`);
        return fetch(`${baseUrl}/v1/models`).then(
          ({ ok }) => ok,
          () => false,
        );
      },
      { timeoutMs: 60_000 },
    );
  });
  afterAll(async () => {
    if (child?.exitCode === null) {
      child.kill("SIGTERM");
      await once(child, "exit");
    }
    await ring?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** Sends the head of a request at once, and then the body if there is one. */
  const send = (path: string, headers: Record<string, string>, body?: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const method = headers["content-length"] === undefined ? "GET" : "POST";
      const sending = httpRequest(baseUrl + path, { method, headers, localAddress: CLIENT, agent: false });
      sending.on("response", resolve).on("error", reject);
      if (body !== undefined || method === "GET") sending.end(body);
      else sending.flushHeaders();
    });
  const json = (key: string, body: string) => ({
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  });
  const textOf = async (answer: IncomingMessage): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of answer) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };

  test("names the client, whatever the client says of itself", async () => {
    const answer = await send("/console/api/session", { "x-forwarded-for": "203.0.113.7" });
    const { headers } = JSON.parse(await textOf(answer)) as Seen;
    expect(headers["x-client-network"]).toBe(CLIENT);
  });

  test("passes the events of a stream on before the next one is made", async () => {
    const body = JSON.stringify({ do: "stream" });
    const answer = await send(CHAT, json(ring.keys.add("normal").secret, body), body);
    const [first] = (await once(answer, "data")) as [Buffer];
    expect(first.toString()).toBe("data: first\n\n");
    ring.stage.released.resolve();
    expect(await textOf(answer)).toBe("data: second\n\n");
  });

  test("passes the largest JSON body on", async () => {
    const body = JSON.stringify({ prompt: "x".repeat(49 * MB) });
    const answer = await send(
      "/v1/compat/images/generations",
      json(ring.keys.add("normal").secret, body),
      body,
    );
    expect(answer.statusCode).toBe(200);
    expect((JSON.parse(await textOf(answer)) as Seen).bytes).toBe(body.length);
  });

  test("passes a refusal on while the body is still to come", async () => {
    const answer = await send(CHAT, { ...json("gr_live_no", ""), "content-length": "1000" });
    expect([answer.statusCode, JSON.parse(await textOf(answer)).error.code]).toEqual([
      401,
      "invalid_api_key",
    ]);
    answer.socket.destroy();
  });
});
