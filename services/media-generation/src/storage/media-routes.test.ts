// Hosted media: ranges, headers, caching, and that only media are served.

import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { closeHttpApp, createHttpApp, createLogger } from "@gr/runtime";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type MediaUnderTest, startMedia } from "../test/start-media.ts";
import { createFolderStorage } from "./folder-storage.ts";
import { createMediaName } from "./media-name.ts";
import { mediaRoute } from "./media-routes.ts";
import type { MediaStorage } from "./media-storage.ts";

const name = createMediaName("png");
const bytes = Buffer.from("0123456789");
let media: MediaUnderTest;

beforeAll(async () => {
  media = await startMedia({ upstreamUrl: "http://127.0.0.1:9" });
  await mkdir(join(media.dataDir, "media", name.slice(0, 2)), { recursive: true });
  await writeFile(join(media.dataDir, "media", name.slice(0, 2), name), bytes);
  await writeFile(join(media.dataDir, "secrets.json"), "canary");
  await writeFile(join(media.dataDir, "media", "note.png"), "canary");
});
afterAll(() => media.stop());

const get = (headers: Record<string, string> = {}, method = "GET") =>
  fetch(`${media.url()}/media/${name}`, { method, headers });

/** A path exactly as written: fetch would tidy it up first. */
function rawGet(path: string): Promise<{ status: number; body: string }> {
  const { hostname, port } = new URL(media.url());
  return new Promise((resolve, reject) => {
    httpRequest({ hostname, port, path, agent: false }, (response) => {
      let body = "";
      response.on("data", (chunk) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body }));
    })
      .on("error", reject)
      .end();
  });
}

describe("a hosted file", () => {
  test("comes whole, with headers that keep a browser from running it", async () => {
    const response = await get();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "image/png",
      "content-length": "10",
      "x-content-type-options": "nosniff",
      "content-security-policy": "sandbox; default-src 'none'; media-src 'self'",
      "cache-control": "public, max-age=31536000, immutable",
      "accept-ranges": "bytes",
      etag: `"${name}"`,
    });
    expect(await response.text()).toBe("0123456789");
  });

  test("has a HEAD with the same headers and no body", async () => {
    const [head, whole] = await Promise.all([get({}, "HEAD"), get()]);
    const comparable = ({ headers }: Response) => {
      const ofTheConnection = ["connection", "date", "keep-alive", "x-request-id"];
      return [...headers].filter(([name]) => !ofTheConnection.includes(name));
    };
    expect(head.status).toBe(200);
    expect(comparable(head)).toEqual(comparable(whole));
    expect(await head.text()).toBe("");
  });

  test.each([
    ["bytes=2-4", "234", "bytes 2-4/10"],
    ["bytes=7-", "789", "bytes 7-9/10"],
    ["bytes=-2", "89", "bytes 8-9/10"],
    ["bytes=0-0", "0", "bytes 0-0/10"],
  ])("%s is 206 with %s", async (range, part, contentRange) => {
    const response = await get({ range });
    expect(response.status).toBe(206);
    expect(response.headers.get("content-range")).toBe(contentRange);
    expect(response.headers.get("content-length")).toBe(String(part.length));
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await response.text()).toBe(part);
  });

  test("a range beyond the end is 416 with the size, in our envelope, and not to be cached", async () => {
    const response = await get({ range: "bytes=10-" });
    expect(response.status).toBe(416);
    expect(response.headers.get("content-range")).toBe("bytes */10");
    expect(response.headers.get("cache-control")).toBeNull();
    expect(await response.json()).toMatchObject({ error: { code: "range_not_satisfiable" } });
  });

  test("ranges of another version, several ranges and nonsense get the whole", async () => {
    for (const headers of [
      { range: "bytes=2-4", "if-range": '"other"' },
      { range: "bytes=0-1,3-4" },
      { range: "x" },
    ]) {
      const response = await get(headers as unknown as Record<string, string>);
      expect(response.status).toBe(200);
      expect(await response.text()).toBe("0123456789");
    }
    expect((await get({ range: "bytes=2-4", "if-range": `"${name}"` })).status).toBe(206);
  });

  test("is not sent again to who has it", async () => {
    const response = await get({ "if-none-match": `"x", "${name}"` });
    expect(response.status).toBe(304);
    expect(await response.text()).toBe("");
  });
});

describe("anything else", () => {
  test("a name that could exist is 404 in our envelope", async () => {
    const response = await fetch(`${media.url()}/media/${createMediaName("webp")}`);
    expect(response.status).toBe(404);
    expect(response.headers.get("cache-control")).toBeNull();
    expect(await response.json()).toMatchObject({
      error: { type: "invalid_request_error", code: "not_found" },
    });
  });

  test.each([
    "/media/../secrets.json",
    "/media/..%2fsecrets.json",
    "/media/%2e%2e/secrets.json",
    "/media/%2e%2e%2fsecrets.json",
    "/media/..%5csecrets.json",
    "/media/....//secrets.json",
    "/media/%252e%252e%252fsecrets.json",
    "/media//secrets.json",
    "/media/note.png",
    "/media/%00",
    `/media/${name}%00.png`,
    `/media/${name}/..`,
    `/media/${name}.part`,
    `/media/${name.toUpperCase()}`,
    `/media/${name.slice(0, 2)}/${name}`,
    `/media/${name.slice(0, 2)}%2f${name}`,
    "/media/",
    "/media",
    "/media/%E0%A4%A",
  ])("%s is not found, or refused before anybody looks", async (path) => {
    const { status, body } = await rawGet(path);
    expect([400, 404]).toContain(status);
    expect(body).not.toContain("canary");
  });
});

test("a file that is deleted while it is asked for is not found", async () => {
  const folder = await mkdtemp(join(tmpdir(), "media-routes-"));
  const storage = await createFolderStorage(folder);
  await storage.put(name, bytes);
  const deletedMeanwhile = async (asked: string) => {
    const size = await storage.size(asked);
    await storage.delete(asked);
    return size;
  };
  const { handle } = mediaRoute({ ...storage, size: deletedMeanwhile });
  const app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "the-id" });
  app.get("/media/:name", (http, reply) => handle({ http, reply } as never));
  const answer = await app.inject(`/media/${name}`);
  expect([answer.statusCode, answer.headers["cache-control"]]).toEqual([404, undefined]);
  expect(answer.json()).toMatchObject({ error: { code: "not_found" } });
  await closeHttpApp(app, 0);
  await rm(folder, { recursive: true });
});

test("a client that takes nothing of its file is cut, and the file is closed", async () => {
  const file = new Readable({ read: () => file.push(Buffer.alloc(64 * 1024)) });
  const closed = once(file, "close");
  const storage = { size: async () => Number.MAX_SAFE_INTEGER, read: () => file };
  const { handle } = mediaRoute(storage as unknown as MediaStorage);
  const app = createHttpApp({
    log: createLogger("silent", "test"),
    requestId: () => "the-id",
    answers: { stallMs: 200, bytesPerSecond: 0, connectionBytes: 1e9, processBytes: 1e9 },
  });
  app.get("/media/:name", (http, reply) => handle({ http, reply } as never));
  await app.listen({ host: "127.0.0.1", port: 0 });
  const client = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  client.on("error", () => client.destroy());
  client.pause().write(`GET /media/${name} HTTP/1.1\r\nhost: x\r\n\r\n`);
  await closed;
  client.destroy();
  await closeHttpApp(app, 0);
});
