// Guarantees of the gateway's pages: the console's files and the API reference. Neither hides a path of the API, and
// neither lets a page load anything from other hosts.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call } from "./test/call.ts";
import { type Ring, startRing } from "./test/ring.ts";

const page = { accept: "text/html,*/*" };

describe("with a build of the console", () => {
  let ring: Ring;
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "console-build-"));
    await mkdir(join(dir, "assets"));
    await writeFile(
      join(dir, "index.html"),
      '<meta content="__PUBLIC_BASE_URL__" /><script nonce="__CSP_NONCE__" src="/assets/app-1.js"></script>',
    );
    await writeFile(join(dir, "assets/app-1.js"), "start()");
    await writeFile(join(dir, ".secret"), "no");
    await mkdir(join(dir, "docs"));
    await writeFile(join(dir, "docs/api.html"), "<h1>Guide</h1>");
    await writeFile(join(dir, "docs/api.md"), "# Guide");
    await writeFile(join(dir, "llms.txt"), "# Router");
    ring = await startRing("one process", { CONSOLE_DIR: dir, PUBLIC_BASE_URL: "https://api.example.com/x" });
  });
  afterAll(async () => {
    await ring?.stop();
    await rm(dir, { recursive: true });
  });
  const get = (path: string, headers: Record<string, string> = {}) => call(ring.baseUrl + path, { headers });

  test.each(["/", "/keys", "/accounts/1/usage", "/console", "/verify-email"])(
    "%s is the start page",
    async (path) => {
      const { status, headers, body } = await get(path, page);
      expect(status).toBe(200);
      const nonce = /nonce="([^"]{20,})"/.exec(String(body))?.[1] ?? "none";
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain(`style-src 'self' 'nonce-${nonce}'`);
      expect(policy).toContain("script-src 'self';");
      expect(policy).toContain("connect-src 'self' https://api.example.com;");
      expect(body).toContain('<meta content="https://api.example.com/x" />');
      expect(policy).not.toMatch(/unsafe|\*/);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(String((await get(path, page)).body)).not.toContain(nonce);
    },
  );

  test("the guides are pages without scripts, and Markdown, beside the reference", async () => {
    const guide = await get("/docs/api", page);
    expect([guide.status, guide.body]).toEqual([200, "<h1>Guide</h1>"]);
    expect(guide.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(guide.headers.get("content-security-policy")).toContain("default-src 'none'; style-src 'self';");
    const markdown = await get("/docs/api.md");
    expect([markdown.status, markdown.body]).toEqual([200, "# Guide"]);
    expect(markdown.headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    const tag = markdown.headers.get("etag") ?? "";
    // Otherwise fetch asks for a fresh answer.
    const revalidating = { "if-none-match": tag, "cache-control": "max-age=0" };
    expect((await get("/docs/api.md", revalidating)).status).toBe(304);
    expect((await get("/llms.txt")).headers.get("content-type")).toContain("text/plain");
    expect(String((await get("/docs", page)).body)).toContain('<a href="/docs/api">');
    expect((await get("/docs/no-such", page)).status).toBe(404);
  });

  test("files are as they were built, and those that are named by what is in them are kept", async () => {
    const { status, headers, body } = await get("/assets/app-1.js");
    expect([status, body]).toEqual([200, "start()"]);
    expect(headers.get("content-type")).toContain("javascript");
    expect(headers.get("cache-control")).toContain("immutable");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  test.each([
    ["/v1/nothing", 404],
    ["/v1/credits", 401],
    ["/v1", 404],
    ["/media", 404],
    ["/console/api", 404],
    ["/console/api/nothing", 404],
    ["/assets/missing.js", 404],
    ["/.secret", 404],
    ["/assets/%2e%2e%2f.secret", 400],
  ])("%s is no page", async (path, status) => {
    const answer = await get(path, page);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([
      status,
      expect.stringContaining("json"),
    ]);
  });

  test("what asks for no page, or would change something, gets the API's answer", async () => {
    expect((await get("/keys")).status).toBe(404);
    expect((await call(`${ring.baseUrl}/keys`, { method: "POST", body: {}, headers: page })).status).toBe(
      404,
    );
    expect((await call(`${ring.baseUrl}/v1/compat/responses`, { headers: page })).status).toBe(401);
  });
});

describe("the reference", () => {
  let ring: Ring;
  beforeAll(async () => {
    ring = await startRing("one process");
  });
  afterAll(() => ring?.stop());

  test("comes whole from here: its page names no other site, and may ask none", async () => {
    const { status, headers, body } = await call(`${ring.baseUrl}/docs`);
    expect(status).toBe(200);
    expect(headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self';");
    expect(headers.get("content-security-policy")).toContain("connect-src 'self';");
    const sources = [...String(body).matchAll(/(?:src|href)="([^"]*)"/g)].map(([, source = ""]) => source);
    expect(sources).toEqual(["/docs/scalar.js", "/docs/start.js"]);
    for (const source of sources) {
      const script = await call(ring.baseUrl + source);
      expect([script.status, script.headers.get("content-type")]).toEqual([
        200,
        "text/javascript; charset=utf-8",
      ]);
    }
    expect(String((await call(`${ring.baseUrl}/docs/scalar.js`)).body)).toContain("createApiReference");
  });

  test("without a build there are no pages", async () => {
    expect((await call(`${ring.baseUrl}/`, { headers: page })).status).toBe(404);
  });
});
