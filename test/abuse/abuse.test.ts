// No request costs the router much more processor time than a harmless one of the same size. No stalled reader keeps
// an answer in memory, and no attacker delays others: for every public operation, as the router describes them. Bounds
// are ratios to harmless requests of the same run. Linear work keeps to them on any machine; quadratic work exceeds
// them.
import { createServer, type Server, type Socket } from "node:net";
import { creditsOf } from "@gr/money";
import { until } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { mintKey, openAccount } from "../chaos/customers.ts";
import { call } from "../e2e/http.ts";
import * as attacks from "./attacks.ts";
import { residentBytes } from "./process-cost.ts";
import { AbuseRing, type Attack, type Caller, namesAt, UNREAD } from "./ring.ts";
import { type Target, uncoveredPrefixes } from "./targets.ts";

/** Factor on the processor time of harmless requests that attacks of the same size may need. */
const FACTOR = 10;
/** Added to the time of harmless requests: background work, garbage, and the steps of the clock. */
const FLOOR_MS = 30;
const TRIES = 2;
/**
 * The quick form sends each kind of attack to each third target, another third for the next kind, so every target has attacks of several
 * kinds. Headers need many requests, and one parser reads them for all targets, so each kind reaches a sixth. The deep form sends the
 * attacks to the other targets, and only the quick form has the tests without shares.
 */
const SHARES = 3;
const SHARES_OF_HEADERS = 6;
const IS_QUICK = byDepth({ quick: true, deep: false });
const REPEATED_HEADERS = 20;
const READERS = 40;
const MEBIBYTE = 1024 * 1024;
/**
 * Resident bytes of a stalled reader, at most. Freed memory returns late, so the limit is far above the need of
 * one.
 */
const BYTES_OF_READER = MEBIBYTE;
/** Pictures of one request, at most. */
const PICTURES = 16;
const QUOTES = 4;
const EDITS = 4;
/** Pictures of one request of the account that delays others with their decoding. */
const DECODED = 8;
/** Downloads that the router runs at the same time. */
const DOWNLOADS = 16;
/** Long chats that one account sends at the same time, and those of its victim, one after another. */
const TOGETHER = 12;
const LONG_CHATS = 8;
const LONG = 2_000_000;

let ring: AbuseRing;
let silent: { readonly server: Server; readonly sockets: Set<Socket>; most: number };
beforeAll(async () => {
  const sockets = new Set<Socket>();
  let open = 0;
  // Answers the victim's request only.
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => socket.destroy()));
    open += 1;
    silent.most = Math.max(silent.most, open);
    socket.once("close", () => {
      open -= 1;
    });
    socket.on("data", (head) => {
      if (/^host: victim/im.test(head.toString("latin1")))
        socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  silent = { server, sockets, most: 0 };
  const limits = ["TEXT", "MEDIA", "OTHER", "ANONYMOUS", "DOWNLOADS"];
  ring = await AbuseRing.start({
    sharedPostgres: true,
    env: {
      ...namesAt((server.address() as { port: number }).port),
      // The cost of a request is measured, not its allowed rate.
      ...Object.fromEntries(limits.map((name) => [`RATE_LIMIT_${name}_PER_SECOND`, "0"])),
    },
  });
});
afterAll(async () => {
  for (const socket of silent?.sockets ?? []) socket.destroy();
  silent?.server.close();
  await ring?.stop();
});

/** Returns the least of some measurements: background work of the router only ever adds to a measurement. */
async function leastOf(measure: () => Promise<number>): Promise<number> {
  const costs: number[] = [];
  while (costs.length < TRIES) costs.push(await measure());
  return Math.min(...costs);
}

/** Returns the key of a new account with so much credit. */
async function spenderOf(usd: string): Promise<string> {
  const { dataDir } = ring.router;
  return (await mintKey(dataDir, await openAccount(dataDir, creditsOf(usd)))).secret;
}

interface Trial {
  readonly name: string;
  readonly attack: Attack;
  readonly harmless: Attack;
  readonly repeated?: number;
}

/** Returns the trials that need too much processor time, with their times. */
async function findDear(caller: Caller, target: Target, trials: readonly Trial[]): Promise<string[]> {
  const send = (of: (trial: Trial) => Attack, some: readonly Trial[]) =>
    ring.costOf(async () => {
      for (const trial of some) {
        const sent = Array.from({ length: trial.repeated ?? 1 }, () =>
          ring.attack(caller, target, of(trial)),
        );
        await Promise.all(sent);
      }
    });
  const attacked = ({ attack }: Trial) => attack;
  const together = await send(attacked, trials);
  // No limit is lower, so cheap attacks need no harmless requests beside them.
  if (together <= FACTOR * FLOOR_MS) return [];
  const harmless = await leastOf(() => send((trial) => trial.harmless, trials));
  const most = Math.round(FACTOR * (harmless / trials.length + FLOOR_MS));
  if (together <= most) return [];
  const dear: string[] = [];
  for (const trial of trials) {
    const cost = await leastOf(() => send(attacked, [trial]));
    if (cost > most) dear.push(`${caller}: ${target.name}, ${trial.name}: ${cost} ms, at most ${most} ms`);
  }
  return dear;
}

async function findAllDear(
  caller: Caller,
  targets: readonly Target[],
  trialsFor: (target: Target) => readonly Trial[],
): Promise<string[]> {
  const dear: string[] = [];
  for (const target of targets) {
    const trials = trialsFor(target);
    if (trials.length > 0) dear.push(...(await findDear(caller, target, trials)));
  }
  return dear;
}

const callerOf = ({ key }: Target): Caller => (key === "anybody" ? "nobody" : "paying");

/** @param kind number of a kind of attack */
function shareOf(targets: readonly Target[], kind: number, shares = SHARES): Target[] {
  return targets.filter((_, index) => ((index + kind) % shares === 0) === IS_QUICK);
}

const member = (target: Target, name: string, value: string): Attack => ({
  body: JSON.stringify({ ...target.body, [name]: value }),
});

test("every route of the gateway is attacked", () => {
  expect(uncoveredPrefixes(ring.targets)).toEqual([]);
  expect(ring.targets.filter(({ fields }) => fields?.length === 0)).toEqual([]);
});

describe("processor time", () => {
  const withBody = () => ring.targets.filter(({ fields }) => fields !== undefined);
  const public_ = () => ring.targets.filter(({ path }) => !path.startsWith("/console"));

  const numbered = (kinds: Readonly<Record<string, string>>) =>
    Object.entries(kinds).map(([name, value], kind) => [name, value, kind] as const);

  test.each(numbered(attacks.TEXTS))("%s in any member of a body", async (_name, text, kind) => {
    const trialsFor = (target: Target) =>
      (target.fields ?? []).map((name) => ({
        name,
        attack: member(target, name, text),
        harmless: member(target, name, attacks.harmlessText(text.length)),
      }));
    const targets = shareOf(withBody(), kind);
    const spending = targets.filter(({ spends }) => spends);
    const free = targets.filter(({ spends }) => !spends);
    expect([
      ...(await findAllDear("paying", spending, trialsFor)),
      ...(await findAllDear("hopeless", free, trialsFor)),
    ]).toEqual([]);
  });

  const whole = Object.entries(attacks.BODIES).map(([name, body]) => ({
    name,
    attack: { body },
    harmless: { body: attacks.harmlessBody },
  }));

  test.each<[Caller, number]>([
    ["paying", 0],
    ["hopeless", 1],
    ["nobody", 2],
  ])("bodies of JSON, sent by %s", async (caller, kind) => {
    const unannounced = whole.map(({ name, attack, harmless }) => ({
      name: `${name}, without a length`,
      attack: { ...attack, chunked: true },
      harmless: { ...harmless, chunked: true },
    }));
    const targets = shareOf(withBody(), kind);
    expect(await findAllDear(caller, targets, () => [...whole, ...unannounced.slice(0, 1)])).toEqual([]);
  });

  test.each(numbered(attacks.HEADER_VALUES))("%s in any header", async (_name, value, kind) => {
    const harmless = attacks.harmlessText(value.length);
    const trials = attacks.HEADERS.map((name) => ({
      name,
      attack: { headers: { [name]: value } },
      harmless: { headers: { [name]: harmless } },
      repeated: REPEATED_HEADERS,
    }));
    // Many trials at once hide one: each is measured alone.
    const dear: string[] = [];
    const targets = public_().filter(({ fields }) => fields === undefined);
    for (const target of shareOf(targets, kind, SHARES_OF_HEADERS)) {
      for (const trial of trials) dear.push(...(await findDear(callerOf(target), target, [trial])));
    }
    expect(dear).toEqual([]);
  });

  if (!IS_QUICK) return;

  test.each<Caller>(["paying", "hopeless", "nobody"])("forms, sent by %s", async (caller) => {
    const headers = { "content-type": attacks.FORM_TYPE };
    const trials = Object.entries(attacks.FORMS).map(([name, body]) => ({
      name,
      attack: { headers, body },
      harmless: { headers, body: attacks.harmlessForm },
    }));
    const targets = withBody().filter(({ acceptsForms }) => acceptsForms);
    const members = (target: Target) =>
      Object.entries(attacks.TEXTS).map(([name, text]) => {
        const form = (value: string) =>
          attacks.formOf(
            [...Object.entries(target.body), ["image", value]].map(([key, of]) => [String(key), String(of)]),
          );
        return {
          name: `${name} as a picture`,
          attack: { headers, body: form(text) },
          harmless: { headers, body: form(attacks.harmlessText(text.length)) },
        };
      });
    expect(await findAllDear(caller, targets, (target) => [...trials, ...members(target)])).toEqual([]);
  });

  // Each kind of answer has code of its own for its tag, so no share of the operations would do.
  test("spaces in the tags of every operation that is read", async () => {
    const tags = (value: string): Attack => ({ headers: { "if-none-match": value } });
    const spaces = attacks.HEADER_VALUES["spaces within"] ?? "";
    const trial = {
      name: "if-none-match",
      attack: tags(spaces),
      harmless: tags(attacks.harmlessText(spaces.length)),
      repeated: REPEATED_HEADERS,
    };
    const dear: string[] = [];
    for (const target of public_().filter(({ method }) => method === "GET"))
      dear.push(...(await findDear(callerOf(target), target, [trial])));
    expect(dear).toEqual([]);
  });

  test("pictures of many pixels, of a caller who pays nothing for them", async () => {
    const [many, few] = [await attacks.manyPixels(), await attacks.fewPixels()];
    const trialsFor = (target: Target) => {
      const withPictures = (uri: string) => ({
        body: JSON.stringify({ ...target.body, image: Array<string>(PICTURES).fill(uri) }),
      });
      return [{ name: "many pixels", attack: withPictures(many), harmless: withPictures(few) }];
    };
    const targets = ring.targets.filter(
      ({ acceptsPictures, path }) => acceptsPictures || path.startsWith("/v1/quote/images"),
    );
    expect(await findAllDear("hopeless", targets, trialsFor)).toEqual([]);
  });

  test("a chat of 19 MB that its account cannot pay costs no more than a small one", async () => {
    const secret = await spenderOf("0.001");
    const target = ring.find("post /v1/compat/chat/completions");
    const headers = { authorization: `Bearer ${secret}`, "x-max-cost": "1000" };
    const chat = (content: string) => ({
      headers,
      body: JSON.stringify({ ...target.body, messages: [{ role: "user", content }] }),
    });
    const large = chat(attacks.harmlessText(19_000_000));
    const trial = { name: "a chat of 19 MB", attack: large, harmless: chat("a"), repeated: 4 };
    expect(await findDear("paying", target, [trial])).toEqual([]);
  });
});

describe("memory", () => {
  if (!IS_QUICK) return;

  test.each([...["get /docs/scalar.js", "get /openapi.json", "get /v1/models", "get /media/{name}"]])(
    "readers of %s who stop reading make the router hold nothing",
    async (name) => {
      const target = ring.find(name);
      for (let count = 0; count < READERS; count += 1) await ring.attack("nobody", target, {});
      const before = await residentBytes(ring.router.pid);
      for (let count = 0; count < READERS; count += 1) await ring.hold("nobody", target, UNREAD);
      const held = (await residentBytes(ring.router.pid)) - before;
      ring.leave();
      expect(Math.round(held / MEBIBYTE)).toBeLessThan((READERS * BYTES_OF_READER) / MEBIBYTE);
    },
  );
});

describe("order of service", () => {
  if (!IS_QUICK) return;

  const quote = (image: readonly string[]): Attack => ({
    body: JSON.stringify({ model: "sandbox/image-edit", prompt: "a", image }),
  });
  const picture = (more: object = {}) =>
    call(ring.router, "POST", "/v1/compat/images/generations", {
      key: ring.victim,
      body: { model: "sandbox/image", prompt: "a", ...more },
    });

  test("a picture waits for no decoding of free quotes", async () => {
    const target = ring.find("post /v1/quote/images/generations");
    const pixels = await attacks.manyPixels();
    await picture();
    const alone = await ring.costOf(picture);
    let attack: Promise<unknown> = Promise.resolve();
    const beside = await ring.costOf(async () => {
      const uris = Array<string>(PICTURES).fill(pixels);
      const sent = Array.from({ length: QUOTES }, () => ring.attack("hopeless", target, quote(uris)));
      attack = Promise.all(sent);
      expect((await picture()).status).toBe(200);
    });
    await attack;
    // The processor time until the picture is there: also a slow machine spends it on the attack or on the picture.
    expect(beside).toBeLessThan(FACTOR * (alone + FLOOR_MS));
  });

  test("a quote fetches nothing", async () => {
    const target = ring.find("post /v1/quote/images/generations");
    const before = silent.sockets.size;
    await ring.attack("hopeless", target, quote(["http://quoted.abuse.example/a.png"]));
    expect(silent.sockets.size).toBe(before);
  });

  test("a picture by URL waits for no downloads that never begin", async () => {
    const target = ring.find("post /v1/compat/images/edits");
    const headers = { authorization: `Bearer ${await spenderOf("10")}`, "x-max-cost": "10" };
    const order: string[] = [];
    const before = silent.sockets.size;
    const attack = Array.from({ length: EDITS }, async (_, index) => {
      const urls = Array.from(
        { length: PICTURES },
        (_url, of) => `http://q${index}-${of}.abuse.example/a.png`,
      );
      order.push(`attacker ${await ring.attack("paying", target, { headers, ...quote(urls) })}`);
    });
    await until(() => silent.sockets.size > before, { timeoutMs: 60_000 });
    // The server answers the victim at once: 404 is an answer too, and the download occupies a place like any other.
    const { status } = await call(ring.router, "POST", target.path, {
      key: ring.victim,
      body: { model: "sandbox/image-edit", prompt: "a", image: "http://victim.abuse.example/a.png" },
    });
    order.push(`victim ${status}`);
    await Promise.all(attack);
    expect(order.indexOf("victim 400")).toBeLessThan(EDITS / 2);
    expect(order).toContain("victim 400");
    // Some places are free for other accounts at any time.
    expect(silent.most).toBeLessThan(DOWNLOADS);
  });

  test("a picture waits for no decoding of another account's pictures", async () => {
    const target = ring.find("post /v1/compat/images/edits");
    const [many, damaged] = [await attacks.manyPixels(), await attacks.damagedPicture()];
    const headers = { authorization: `Bearer ${await spenderOf("10")}`, "x-max-cost": "10" };
    // The decoder refuses a damaged picture in its turn, so no edit waits for a provider.
    const uris = [...Array<string>(DECODED - 1).fill(many), damaged];
    const order: string[] = [];
    const attack = Array.from({ length: EDITS }, async () => {
      order.push(`attacker ${await ring.attack("paying", target, { headers, ...quote(uris) })}`);
    });
    await Promise.race(attack);
    const { status } = await call(ring.router, "POST", target.path, {
      key: ring.victim,
      body: { model: "sandbox/image-edit", prompt: "a", image: damaged },
    });
    order.push(`victim ${status}`);
    await Promise.all(attack);
    expect(order.toSorted()).toEqual([...Array<string>(EDITS).fill("attacker 400"), "victim 400"]);
    expect(order.indexOf("victim 400")).toBeLessThan(EDITS - 1);
  });

  test("a long chat has the turns of an account, beside many of another account", async () => {
    const target = ring.find("post /v1/compat/chat/completions");
    const messages = [{ role: "user", content: attacks.harmlessText(LONG) }];
    const chat = { body: JSON.stringify({ ...target.body, messages }) };
    const victims = { ...chat, headers: { authorization: `Bearer ${ring.victim}` } };
    const statuses: number[] = [];
    let isOver = false;
    const attack = Array.from({ length: TOGETHER }, async () => {
      while (!isOver) statuses.push(await ring.attack("paying", target, chat));
    });
    await until(() => statuses.length >= TOGETHER, { timeoutMs: 300_000 });
    const before = statuses.length;
    const served: number[] = [];
    while (served.length < LONG_CHATS) served.push(await ring.attack("paying", target, victims));
    const beside = statuses.length - before;
    isOver = true;
    await Promise.all(attack);
    // All chats are read to their end and exceed x-max-cost.
    expect(new Set([...statuses, ...served])).toEqual(new Set([400]));
    // Turns by connection would be twelve to one.
    expect(beside).toBeLessThan((LONG_CHATS * TOGETHER) / 3);
  });
});
