// Bytes on the wire until a browser shows the console's first page and the API's reference, and its use of the cache.
import { type IncomingHttpHeaders, request } from "node:http";
import { brotliDecompressSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "./topology.ts";

/** Bytes, with the fonts. The sign-in page is the first one of a new person, and Home that of all others. */
const CONSOLE_MOST = 250_000;
const REFERENCE_MOST = 1_200_000;

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true });
});
afterAll(() => router?.dispose());

interface Loaded {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly wireBytes: number;
  readonly text: string;
}

function load(path: string, more: Record<string, string> = {}): Promise<Loaded> {
  const headers = { "accept-encoding": "gzip, br", ...more };
  return new Promise((resolve, reject) => {
    request(router.baseUrl + path, { headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const isPlain = bytes.length === 0 || response.headers["content-encoding"] === undefined;
        const text = String(isPlain ? bytes : brotliDecompressSync(bytes));
        resolve({ status: response.statusCode, headers: response.headers, wireBytes: bytes.length, text });
      });
    })
      .on("error", reject)
      .end();
  });
}

/** Loads a page and all files that it needs at once. @param named further files, by the text that names them */
async function loadPage(
  path: string,
  named: (text: string) => readonly string[],
): Promise<Map<string, Loaded>> {
  const loaded = new Map([[path, await load(path, { accept: "text/html" })]]);
  // Iteration over a map includes entries that are added meanwhile.
  for (const [, { text }] of loaded) {
    for (const file of named(text)) if (!loaded.has(file)) loaded.set(file, await load(file));
  }
  for (const { status } of loaded.values()) expect(status).toBe(200);
  return loaded;
}

const wireBytes = (loaded: ReadonlyMap<string, Loaded>) =>
  [...loaded.values()].reduce((sum, one) => sum + one.wireBytes, 0);

test.each([
  ["the sign-in page", ["all-pages", "forms"]],
  ["Home", ["all-pages", "account"]],
])("the console shows %s after 250 kB, and is not loaded again", async (_, names) => {
  const loaded = await loadPage("/", (text) => [
    ...[...text.matchAll(/["'(](\/assets\/[\w-]+\.(?:js|css|woff2))["')]/g)].map(([, file = ""]) => file),
    ...[...text.matchAll(/(?:from|import)\s*["']\.\/([\w-]+\.js)["']/g)].map(([, file]) => `/assets/${file}`),
    ...names
      .flatMap((name) => [
        ...text.matchAll(new RegExp(`["'](?:\\./|assets/)(${name}-[\\w-]{8}\\.js)["']`, "g")),
      ])
      .map(([, file]) => `/assets/${file}`),
  ]);
  const files = [...loaded.keys()];
  for (const name of names)
    expect(files.filter((file) => file.startsWith(`/assets/${name}-`))).toHaveLength(1);
  expect(files.filter((file) => file.endsWith(".woff2"))).toHaveLength(2);
  expect(wireBytes(loaded)).toBeLessThan(CONSOLE_MOST);
  for (const [file, { headers, text }] of loaded) {
    if (!file.startsWith("/assets/")) continue;
    expect(headers["cache-control"]).toContain("immutable");
    if (text.length > 1_000 && !file.endsWith(".woff2"))
      expect([file, headers["content-encoding"]]).toEqual([file, "br"]);
    const again = await load(file, { "if-none-match": String(headers.etag) });
    expect([again.status, again.wireBytes]).toEqual([304, 0]);
  }
});

test("the reference is there after 1.2 MB", async () => {
  const loaded = await loadPage("/docs", (text) =>
    text.length > 1_000_000
      ? []
      : [...text.matchAll(/(?:src=|url: )"(\/[\w./-]+)"/g)].map(([, file = ""]) => file),
  );
  expect([...loaded.keys()].sort()).toEqual(["/docs", "/docs/scalar.js", "/docs/start.js", "/openapi.json"]);
  expect(wireBytes(loaded)).toBeLessThan(REFERENCE_MOST);
  for (const [file, { headers }] of loaded) {
    const again = await load(file, { "if-none-match": String(headers.etag) });
    expect([file, again.status, again.wireBytes]).toEqual([file, 304, 0]);
  }
});
