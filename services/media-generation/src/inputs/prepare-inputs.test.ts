// Input pictures: every form becomes the same clean picture. No spelling, redirect or DNS answer of a URL leads to a
// request to an internal address.
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { ByteBudget, FairGate, FormFile, systemClock } from "@gr/runtime";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createMediaGates } from "../generation/media-gates.ts";
import { createOutbound, type Outbound } from "../providers/outbound.ts";
import { drawPicture } from "../test/pictures.ts";
import { type ScriptedServer, startScriptedServer } from "../test/scripted-server.ts";
import { createPictureCleaner } from "./clean-picture.ts";
import { inputSources, MAX_PICTURE_BYTES } from "./input-sources.ts";
import { createInputs, type PrepareInputsDeps } from "./prepare-inputs.ts";

const NAME = `${"ab".repeat(20)}.png`;
const PUBLIC = "http://127.0.0.1:8080/";

let picture: Buffer;
let elsewhere: ScriptedServer;
let internal: ScriptedServer;
let outbound: Outbound;
let budget: ByteBudget;
let deps: PrepareInputsDeps;

beforeEach(async () => {
  picture = await drawPicture("png", { width: 20, height: 10 });
  elsewhere = await startScriptedServer();
  internal = await startScriptedServer();
  budget = new ByteBudget(100_000_000);
  const inside = (family: 4 | 6, address: string) => ({ address, family });
  outbound = createOutbound({
    // Represents the public internet, which tests lack.
    trustedOrigins: new Set([elsewhere.url]),
    resolveAll: async (name) => {
      if (name.startsWith("mixed.")) return [inside(4, "93.184.216.34"), inside(4, "127.0.0.1")];
      if (name.startsWith("v6.")) return [inside(6, "::1")];
      if (name.startsWith("mapped.")) return [inside(6, "::ffff:127.0.0.1")];
      if (name.startsWith("metadata.")) return [inside(4, "169.254.169.254")];
      return [inside(4, "127.0.0.1")];
    },
  });
  const gates = createMediaGates();
  deps = {
    outbound,
    downloads: gates.downloads,
    clean: createPictureCleaner(gates.inputs),
    storage: {
      size: async (name) => (name === NAME ? picture.length : undefined),
      read: () => Readable.from([picture]),
    },
    publicBaseUrl: PUBLIC,
    clock: systemClock,
  };
});
afterEach(async () => {
  await outbound.close();
  await elsewhere.close();
  await internal.close();
});

/** Runs both steps, for a request with a price that does not depend on pixels. */
const brought = async (fields: object) => {
  const share = { owner: "account", allowance: budget.open("account"), signal: new AbortController().signal };
  const inputs = createInputs(deps);
  return inputs.prepare(await inputs.look(inputSources(fields), "unread", share), share);
};
const uri = () => `data:image/gif;base64,${picture.toString("base64")}`;

test("files, data URIs, URLs and our own media, mixed, become clean pictures in their order", async () => {
  elsewhere.play({ status: 200, headers: { "content-type": "text/html" }, body: picture });
  const inputs = await brought({
    image: new FormFile(picture, Buffer.alloc(32)),
    "image[]": [`${elsewhere.url}/a`, uri(), `${PUBLIC}media/${NAME}`],
    mask: uri(),
  });
  expect(inputs.map(({ role, type, width, height }) => [role, type, width, height])).toEqual([
    ...Array(4).fill(["image", "image/png", 20, 10]),
    ["mask", "image/png", 20, 10],
  ]);
  expect(elsewhere.requests).toHaveLength(1);
  expect(elsewhere.requests[0]?.headers).toEqual({
    host: new URL(elsewhere.url).host,
    connection: expect.any(String),
    "accept-encoding": "identity",
  });
});

describe("a URL that must not be fetched", () => {
  const hosts = [
    "127.0.0.1",
    "127.1",
    "0",
    "2130706433",
    "017700000001",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "①②⑦.⓪.⓪.①",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "localhost",
    "localhost.",
    "LOCALHOST",
    "127.0.0.1.nip.io",
    "mixed.test",
    "v6.test",
    "mapped.test",
    "metadata.test",
    "inside.test",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[64:ff9b:1::127.0.0.1]",
    "[2002:7f00:1::]",
    "[2001:0:7f00:1::]",
    "[fe80::1]",
    "[fec0::1]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[ff02::1]",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "169.254.169.254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
  ];
  const PORTS = ["", ":80", ":443"];
  const corpus = (port: string) => [
    ...hosts.map((host) => `http://${host}${PORTS[host.length % PORTS.length]}/a.png`),
    ...["127.0.0.1", "localhost", "[::1]", "example.com", "1.1.1.1"].map((host) => `http://${host}:${port}/`),
    `http://user@127.0.0.1:${port}/`,
    "https://user:secret@example.com/a.png",
    "http://example.com@127.0.0.1/",
    "ftp://example.com/a.png",
    "file:///etc/passwd",
    "gopher://127.0.0.1/_x",
    "javascript:alert(1)",
    "blob:http://example.com/x",
    "unix:/var/run/docker.sock",
    `${PUBLIC}media/../secret`,
    `${PUBLIC}media/${NAME}/../../v1/credits`,
  ];

  test("is refused as such, and nothing internal hears of it", async () => {
    const { port } = new URL(internal.url);
    for (const url of corpus(port)) {
      const refusal = await brought({ image: [uri(), url] }).catch((error) => error);
      const { reason, param, message } = refusal;
      expect([url, reason, param]).toEqual([url, "url_not_allowed", "image"]);
      expect(message).toMatch(/^image\[1\]: /);
    }
    expect(internal.requests).toEqual([]);
  });

  test("is not reached by being led there either", async () => {
    const { port } = new URL(internal.url);
    for (const location of corpus(port)) {
      elsewhere.play({ status: 302, headers: { location: encodeURI(location).replaceAll("%25", "%") } });
      await expect(brought({ image: `${elsewhere.url}/a` })).rejects.toMatchObject({ param: "image" });
    }
    elsewhere.play({ status: 302, headers: { location: "/again" } });
    const circling = brought({ image: `${elsewhere.url}/a` });
    await expect(circling).rejects.toMatchObject({ reason: "url_not_allowed" });
    expect(internal.requests).toEqual([]);
  });
});

describe("a URL that cannot be fetched is the caller's matter, by name", () => {
  test.each<[string, Parameters<ScriptedServer["play"]>[0], string]>([
    ["404", { status: 404 }, "image_download_failed"],
    ["500", { status: 500 }, "image_download_failed"],
    [
      "no picture",
      { status: 200, headers: { "content-type": "image/png" }, body: "<html>" },
      "invalid_image",
    ],
    [
      "a compressed one",
      { status: 200, headers: { "content-encoding": "gzip" }, body: "x" },
      "image_download_failed",
    ],
    [
      "a length that is not true",
      (response) =>
        void response.writeHead(200, { "content-length": "9999" }).write("x", () => response.destroy()),
      "image_download_failed",
    ],
    [
      "more than a picture may have",
      (response) => {
        const more = () => {
          while (!response.destroyed && response.write(Buffer.alloc(1_000_000)));
          response.once("drain", more);
        };
        response.writeHead(200);
        more();
      },
      "image_download_failed",
    ],
  ])("%s", async (_what, entry, reason) => {
    elsewhere.play(entry);
    const refused = brought({ image: [uri(), uri(), `${elsewhere.url}/a`] });
    await expect(refused).rejects.toMatchObject({ reason, param: "image" });
    await expect(refused).rejects.toThrow(/^image\[2\]: /);
  });

  test("one that never answers is given up", async () => {
    let asked = 0;
    const immediate = {
      now: () => Date.now(),
      sleep: async (_ms: number, signal?: AbortSignal) => {
        while (asked === 0 && signal?.aborted !== true) await new Promise((resolve) => setImmediate(resolve));
      },
    };
    elsewhere.play(() => {
      asked += 1;
    });
    deps = { ...deps, clock: immediate };
    await expect(brought({ image: `${elsewhere.url}/a` })).rejects.toMatchObject({
      reason: "image_download_failed",
    });
  });
});

test("a file of ours that is gone is said to be", async () => {
  const refused = brought({ mask: `${PUBLIC}media/${"cd".repeat(20)}.png` });
  await expect(refused).rejects.toMatchObject({ reason: "image_download_failed", param: "mask" });
});

test("what the process has no room for is refused while it arrives", async () => {
  budget = new ByteBudget(1_000);
  elsewhere.play({ status: 200, body: Buffer.alloc(MAX_PICTURE_BYTES) });
  await expect(brought({ image: `${elsewhere.url}/a` })).rejects.toMatchObject({
    reason: "service_unavailable",
  });
});

/** A step of a request of this account. */
const shareOf = (owner: string, signal = new AbortController().signal) => {
  return { owner, allowance: budget.open(owner), signal };
};

describe("looking at pictures, before the money", () => {
  /** Counts decoded pictures. */
  const counting = () => {
    let decoded = 0;
    const { clean } = deps;
    deps = {
      ...deps,
      clean: (...args) => {
        decoded += 1;
        return clean(...args);
      },
    };
    return () => decoded;
  };

  test("decodes nothing, and fetches nothing where the price goes by no pixels", async () => {
    const decoded = counting();
    const sources = inputSources({
      image: [uri(), `${elsewhere.url}/a`],
      "image[]": new FormFile(picture, Buffer.alloc(32)),
      mask: `${elsewhere.url}/m`,
    });
    const seen = await createInputs(deps).look(sources, "unread", shareOf("account"));
    expect(seen.map(({ pixels }) => pixels)).toEqual([200, undefined, 200, undefined]);
    expect([decoded(), elsewhere.requests]).toEqual([0, []]);
  });

  test("refuses by the header, and by how a URL is written", async () => {
    const look = (image: unknown) =>
      createInputs(deps).look(inputSources({ image }), "unread", shareOf("account"));
    const bytes = Buffer.from("<svg/>").toString("base64");
    await expect(look([uri(), `data:;base64,${bytes}`])).rejects.toThrow(
      "image[1]: it is not a PNG, JPEG or WebP",
    );
    await expect(look("http://10.0.0.1/a.png")).rejects.toMatchObject({ reason: "url_not_allowed" });
  });

  test("reads of a URL only the header, of a host that never ends", async () => {
    const closed = Promise.withResolvers<void>();
    elsewhere.play((response) => {
      response.on("close", () => closed.resolve());
      response.writeHead(200).write(picture.subarray(0, 40));
    });
    const sources = inputSources({ image: `${elsewhere.url}/a`, mask: `${elsewhere.url}/m` });
    const seen = await createInputs(deps).look(sources, "headers", shareOf("account"));
    expect(seen.map(({ pixels, bytes }) => [pixels, bytes])).toEqual([
      [200, undefined],
      [undefined, undefined],
    ]);
    await closed.promise;
    expect(elsewhere.requests.map(({ path }) => path)).toEqual(["/a"]);
  });

  test("fetches what the price of a request goes by once, for both steps", async () => {
    elsewhere.play({ status: 200, body: picture });
    const inputs = createInputs(deps);
    const seen = await inputs.look(
      inputSources({ image: `${elsewhere.url}/a` }),
      "whole",
      shareOf("account"),
    );
    expect(seen[0]?.pixels).toBe(200);
    expect(await inputs.prepare(seen, shareOf("account"))).toMatchObject([{ width: 20, height: 10 }]);
    expect(elsewhere.requests).toHaveLength(1);
  });
});

describe("a host that says nothing", () => {
  test.each<[string, (response: ServerResponse) => void]>([
    ["at all", () => undefined],
    ["after the head of its answer", (response) => response.writeHead(200).flushHeaders()],
    ["after some bytes", (response) => response.writeHead(200).write(picture.subarray(0, 9))],
  ])("%s loses its place without waiting for the time of the whole request", async (_, answer) => {
    elsewhere.play(answer);
    const trusted = { trustedOrigins: new Set([elsewhere.url]), downloadSilenceMs: 50 };
    const immediate = createOutbound(trusted);
    // No other limit ends it.
    const clock = { now: () => 0, sleep: () => new Promise<void>(() => undefined) };
    deps = { ...deps, outbound: immediate, clock };
    await expect(brought({ image: `${elsewhere.url}/a` })).rejects.toMatchObject({
      reason: "image_download_failed",
    });
    await immediate.close();
  });
});

describe("shares", () => {
  test("slow URLs of one account leave places for another's, at once", async () => {
    // The downloads of the one end when the test does.
    const slow: ServerResponse[] = [];
    const all = Promise.withResolvers<void>();
    elsewhere.play((response, { path }) => {
      if (path === "/quick") response.end(picture);
      else slow.push(response);
      if (slow.length === 4) all.resolve();
    });
    const inputs = createInputs(deps);
    const prepare = async (owner: string, path: string, images: number, signal?: AbortSignal) => {
      const sources = inputSources({ image: Array(images).fill(`${elsewhere.url}${path}`) });
      const share = shareOf(owner, signal);
      return inputs.prepare(await inputs.look(sources, "unread", share), share);
    };
    const leaves = new AbortController();
    const waiting = [0, 1, 2].map(() => prepare("slow", "/slow", 16, leaves.signal).catch(() => "left"));
    await all.promise;
    expect(await prepare("quick", "/quick", 8)).toHaveLength(8);
    leaves.abort(new Error("left"));
    expect(await Promise.all(waiting)).toEqual(["left", "left", "left"]);
    // A request that waited for a place was never sent.
    expect(elsewhere.requests.filter(({ path }) => path === "/slow")).toHaveLength(4);
  });

  test("a client that left has the rest of its pictures neither fetched nor decoded", async () => {
    const gate = new FairGate({ places: 1, perOwner: 1, waitingPerOwner: 99, waiting: 99, name: "pictures" });
    const leaves = new AbortController();
    let decoded = 0;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const blocked = gate.run({ owner: "other" }, () => held);
    const clean = createPictureCleaner(gate);
    deps = {
      ...deps,
      clean: async (...args) => {
        const cleaned = await clean(...args);
        decoded += 1;
        return cleaned;
      },
    };
    const inputs = createInputs(deps);
    const share = shareOf("account", leaves.signal);
    const seen = await inputs.look(inputSources({ image: Array(16).fill(uri()) }), "unread", share);
    const left = inputs.prepare(seen, share);
    leaves.abort(new Error("the client has left"));
    await expect(left).rejects.toThrow("the client has left");
    release();
    await blocked;
    // The gate is free and without a queue: a new account's picture is decoded at once.
    expect(await inputs.prepare(seen.slice(0, 1), shareOf("newcomer"))).toHaveLength(1);
    expect(decoded).toBe(1);
  });

  test("a picture that does not decode ends the others of its request", async () => {
    const broken = await drawPicture("jpeg", { width: 200, height: 200 });
    const cut = `data:;base64,${broken.subarray(0, broken.length - 100).toString("base64")}`;
    const fields = { image: [cut, ...Array(15).fill(uri())] };
    await expect(brought(fields)).rejects.toThrow("image[0]: the picture");
  });
});
