// Floods: attacks that last, each against a router with default settings, and the requests of a customer that each one aims at.
// A flood lasts until its end is called, with a bounded number of requests at the same time.
import { creditsOf } from "@gr/money";
import { gather } from "../bench/targets/gather-crowd.ts";
import { mintKey, openAccount } from "../chaos/customers.ts";
import { keysOf } from "../e2e/operator.ts";
import * as attacks from "./attacks.ts";
import type { AbuseRing, Attack, Caller } from "./ring.ts";

export type Victim = "chat" | "picture" | "picture by URL";
/** Ends a flood. @returns how often each status was its answer; 0 = the connection was closed */
type End = () => Promise<Readonly<Record<number, number>>>;

export interface Flood {
  readonly victim: Victim;
  /** Also measured where each service is a process of its own. */
  readonly alsoSplit?: boolean;
  /** Its chats are answered by the scripted upstream instead of the simulator within the router. */
  readonly ownUpstream?: boolean;
  /** New customers that must get an answer meanwhile, each with a key and a connection of its own. */
  readonly newcomers?: number;
  /** Most answers without a rate limit error in so many seconds. Absent: they are not counted. */
  readonly mostAdmitted?: (seconds: number) => number;
  start(ring: AbuseRing): Promise<End>;
}

const PICTURES = 16;
const READERS = 120;
const LARGE_CHATS = 24;
const LARGE = 19_000_000;
const TOGETHER = 6;
const IDLE = 20_000;
const KEYS = 10_000;
/** Default settings of one account's chats. */
const ACCOUNT_PER_SECOND = 250;
const ACCOUNT_AT_ONCE = 500;
const MINTED_TOGETHER = 50;
/** In a prompt: the scripted upstream answers with dear JSON. */
export const DEAR_ANSWER = "answer me with dear JSON";

const QUOTE = "post /v1/quote/images/generations";
const CHAT = "post /v1/compat/chat/completions";

/** Sends an attack again and again. @param most at the same time */
function repeat(attack: () => Promise<number>, perSecond: number, most = perSecond * 2): End {
  const running = new Set<Promise<unknown>>();
  const statuses: number[] = [];
  const timer = setInterval(() => {
    if (running.size >= most) return;
    const one = attack()
      .then((status) => statuses.push(status))
      .finally(() => running.delete(one));
    running.add(one);
  }, 1000 / perSecond);
  return async () => {
    clearInterval(timer);
    await Promise.all(running);
    return tallyOf(statuses);
  };
}

function tallyOf(statuses: readonly number[]): Record<number, number> {
  const tally: Record<number, number> = {};
  for (const status of statuses) tally[status] = (tally[status] ?? 0) + 1;
  return tally;
}

/** Closes the connections that the attackers hold. */
const leaving =
  (ring: AbuseRing): End =>
  async () => {
    ring.leave();
    return {};
  };

function repeatAt(ring: AbuseRing, caller: Caller, name: string, perSecond: number, attack: Attack): End {
  const target = ring.find(name);
  return repeat(() => ring.attack(caller, target, attack), perSecond);
}

const quoted = (ring: AbuseRing, image: unknown): Attack => ({
  body: Buffer.from(JSON.stringify({ ...ring.find(QUOTE).body, image })),
});

const chatted = (ring: AbuseRing, content: string): Buffer =>
  Buffer.from(JSON.stringify({ ...ring.find(CHAT).body, messages: [{ role: "user", content }] }));

/** Headers of a new account with so much credit, which it may spend. */
async function spenderOf(ring: AbuseRing, usd: string): Promise<Record<string, string>> {
  const account = await openAccount(ring.router.dataDir, creditsOf(usd));
  const { secret } = await mintKey(ring.router.dataDir, account);
  return { authorization: `Bearer ${secret}`, "x-max-cost": "1000" };
}

/** Mails of strangers: each address is another one. */
function askForMails(ring: AbuseRing, path: string): End {
  const target = ring.find(`post ${path}`);
  let asked = 0;
  return repeat(() => {
    asked += 1;
    const headers = { origin: new URL(ring.router.baseUrl).origin };
    const body = JSON.stringify({ email: `a${asked}@abuse.example` });
    return ring.attack("nobody", target, { headers, body });
  }, 40);
}

async function secretsOf(ring: AbuseRing, count: number): Promise<string[]> {
  const { dataDir } = ring.router;
  const account = await openAccount(dataDir, creditsOf("1"));
  const operator = await keysOf(dataDir);
  const secrets: string[] = [];
  let asked = 0;
  const mint = async () => {
    while (asked < count) {
      asked += 1;
      secrets.push((await mintKey(dataDir, account, {}, operator)).secret);
    }
  };
  await Promise.all(Array.from({ length: MINTED_TOGETHER }, mint));
  return secrets;
}

export const FLOODS: Readonly<Record<string, Flood>> = {
  "2 quotes/s with 400 KB of base64 padding": {
    victim: "chat",
    start: async (ring) => {
      const image = `data:image/png;base64,${"=".repeat(400_000)}A`;
      return repeatAt(ring, "hopeless", QUOTE, 2, quoted(ring, image));
    },
  },
  "10 quotes/s with 16 x 49 megapixels": {
    victim: "picture",
    alsoSplit: true,
    start: async (ring) => {
      const image = Array<string>(PICTURES).fill(await attacks.manyPixels());
      return repeatAt(ring, "hopeless", QUOTE, 10, quoted(ring, image));
    },
  },
  "2 edits/s with 16 URLs of a silent host": {
    victim: "picture by URL",
    start: async (ring) => {
      const target = ring.find("post /v1/compat/images/edits");
      const headers = await spenderOf(ring, "100");
      let sent = 0;
      return repeat(() => {
        sent += 1;
        const image = Array.from(
          { length: PICTURES },
          (_, of) => `http://q${sent}-${of}.abuse.example/a.png`,
        );
        const body = JSON.stringify({ model: "sandbox/image-edit", prompt: "a", image });
        return ring.attack("paying", target, { headers, body });
      }, 2);
    },
  },
  "40 media/s with spaces in If-None-Match": {
    victim: "chat",
    start: async (ring) => {
      const headers = { "if-none-match": attacks.HEADER_VALUES["spaces within"] ?? "" };
      return repeatAt(ring, "nobody", "get /media/{name}", 40, { headers });
    },
  },
  "120 unread readers of /docs/scalar.js": {
    victim: "chat",
    start: async (ring) => {
      for (let count = 0; count < READERS; count += 1)
        await ring.hold("nobody", ring.find("get /docs/scalar.js"));
      return leaving(ring);
    },
  },
  "24 chats of 19 MB at once": {
    victim: "chat",
    start: async (ring) => {
      const body = chatted(ring, attacks.harmlessText(LARGE));
      const send = () => ring.attack("paying", ring.find(CHAT), { body });
      const sent = Array.from({ length: LARGE_CHATS }, send);
      return async () => tallyOf(await Promise.all(sent));
    },
  },
  "6 chats of 19 MB at a time, of 1 USD": {
    victim: "chat",
    alsoSplit: true,
    start: async (ring) => {
      const [headers, body] = [await spenderOf(ring, "1"), chatted(ring, attacks.harmlessText(LARGE))];
      return repeat(() => ring.attack("paying", ring.find(CHAT), { headers, body }), 50, TOGETHER);
    },
  },
  "6 chats of 19 MB at a time, read to the end": {
    victim: "chat",
    alsoSplit: true,
    start: async (ring) => {
      const body = chatted(ring, attacks.harmlessText(LARGE));
      return repeat(() => ring.attack("paying", ring.find(CHAT), { body }), 50, TOGETHER);
    },
  },
  "4 edits at a time with a data URI of 24 MB": {
    victim: "chat",
    start: async (ring) => {
      const image = `data:image/png;base64,${"QUJD".repeat(8_000_000)}`;
      const target = ring.find("post /v1/compat/images/edits");
      const body = Buffer.from(JSON.stringify({ model: "sandbox/image-edit", prompt: "a", image }));
      const headers = await spenderOf(ring, "100");
      let sent = 0;
      return repeat(
        () => {
          sent += 1;
          const key = { "idempotency-key": `large ${sent}` };
          return ring.attack("paying", target, { headers: { ...headers, ...key }, body });
        },
        50,
        4,
      );
    },
  },
  "20,000 idle connections": {
    victim: "chat",
    newcomers: 10,
    start: async (ring) => {
      const crowd = gather("idle", ring.router.baseUrl, IDLE);
      await crowd.opened();
      return async () => {
        crowd.leave();
        return {};
      };
    },
  },
  "40 sign-ups/s of strangers": {
    victim: "chat",
    start: async (ring) => askForMails(ring, "/console/api/sign-up"),
  },
  "40 forgotten passwords/s of strangers": {
    victim: "chat",
    start: async (ring) => askForMails(ring, "/console/api/password-reset"),
  },
  "10,000 keys of one account": {
    victim: "chat",
    mostAdmitted: (seconds) => ACCOUNT_AT_ONCE + ACCOUNT_PER_SECOND * seconds,
    start: async (ring) => {
      const secrets = await secretsOf(ring, KEYS);
      let sent = 0;
      return repeat(
        () => {
          sent += 1;
          const authorization = `Bearer ${secrets[sent % KEYS]}`;
          return ring.attack("paying", ring.find(CHAT), { headers: { authorization }, body: "{}" });
        },
        1_000,
        64,
      );
    },
  },
  "2 chats/s whose upstream answers 10 MB of nested JSON": {
    victim: "chat",
    alsoSplit: true,
    ownUpstream: true,
    start: async (ring) => {
      const [headers, body] = [await spenderOf(ring, "1000"), chatted(ring, DEAR_ANSWER)];
      return repeatAt(ring, "paying", CHAT, 2, { headers, body });
    },
  },
};
