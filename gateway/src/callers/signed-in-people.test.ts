// Calls of signed-in people: they count for the person, as soon as the console has confirmed the session, and a cookie
// that it has not confirmed counts for its address.
import { ManualClock, testRedis } from "@gr/testing";
import { afterEach, describe, expect, test } from "@jest/globals";
import type { FastifyReply, FastifyRequest } from "fastify";
import { call, errorOf } from "../test/call.ts";
import { type Ring, startRing, topologies } from "../test/ring.ts";
import { SignedInPeople } from "./signed-in-people.ts";

const SESSION = "/console/api/session";
/** 10 requests of an address at once, 500 of a person. */
const TIGHT = {
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "1",
  RATE_LIMIT_OTHER_PER_SECOND: "50",
  RATE_LIMIT_BURST_SECONDS: "10",
};

// The clock of these rings is frozen, so that limits stay exhausted.
describe.each(topologies)("%s", (topology) => {
  let ring: Ring;
  const start = async (settings: Record<string, string> = {}) => {
    ring = await startRing(topology, { ...TIGHT, ...settings });
  };
  afterEach(() => ring.stop());
  const send = (cookie: string) => call(`${ring.baseUrl}${SESSION}`, { headers: { cookie } });
  const limitOf = async (cookie: string) => (await send(cookie)).headers.get("x-ratelimit-limit-requests");
  /** Uses up the limit of the address. @param cookies of the requests in turn */
  const exhaust = async (cookies: (index: number) => string): Promise<string> => {
    for (let index = 0; index < 1_000; index += 1) {
      const answer = await send(cookies(index));
      if (answer.status === 429) return errorOf(answer).message;
    }
    throw new Error("nothing was refused");
  };

  test("a session that the console has confirmed counts for its person", async () => {
    await start();
    expect(await limitOf("gr_session=valid-ann")).toBe("10");
    expect(await limitOf("gr_session=valid-ann")).toBe("500");
    await exhaust(() => "");
    expect((await send("gr_session=valid-ann")).status).toBe(200);
    expect((await send("gr_session=valid-bob")).status).toBe(429);
  });

  test("no answer names the person", async () => {
    await start();
    for (const cookie of ["gr_session=valid-ann", "gr_session=no", ""]) {
      expect([...(await send(cookie)).headers.keys()]).not.toContain("x-signed-in-person");
    }
  });

  test("forged cookies do not escape the limit of their address", async () => {
    await start();
    expect(await exhaust((index) => `gr_session=forged-${index}`)).toMatch(
      /requests without a valid API key: 1 per second and IP address/,
    );
    const asked = ring.stage.sessionsAsked;
    expect((await send("gr_session=another")).status).toBe(429);
    expect(ring.stage.sessionsAsked).toBe(asked);
  });

  test("all sessions of a person have one limit", async () => {
    await start({ RATE_LIMIT_OTHER_PER_SECOND: "1", RATE_LIMIT_ANONYMOUS_PER_SECOND: "1000" });
    const sessions = ["gr_session=valid-ann; device=1", "gr_session=valid-ann; device=2"];
    for (const cookie of sessions) expect((await send(cookie)).status).toBe(200);
    expect(await exhaust((index) => sessions[index % 2] ?? "")).toMatch(
      /requests of the console: 1 per second and person/,
    );
    for (const cookie of sessions) expect((await send(cookie)).status).toBe(429);
  });
});

test("a person counts in Redis, too", async () => {
  const { url } = await testRedis();
  const ring = await startRing("one process", { ...TIGHT, REDIS_URL: url, REDIS_TIMEOUT_MS: "10000" });
  try {
    const limits: (string | null)[] = [];
    for (const _ of [1, 2]) {
      const answer = await call(`${ring.baseUrl}${SESSION}`, { headers: { cookie: "gr_session=valid-ann" } });
      limits.push(answer.headers.get("x-ratelimit-limit-requests"));
    }
    expect(limits).toEqual(["10", "500"]);
  } finally {
    await ring.stop();
  }
});

describe("sessions that were confirmed", () => {
  const clock = new ManualClock();
  const requestOf = (cookie: string) => ({ headers: { cookie } }) as FastifyRequest;
  const answer = (people: SignedInPeople, cookie: string, personId: string | undefined) => {
    const headers = new Map(personId === undefined ? [] : [["x-signed-in-person", personId]]);
    const reply = {
      getHeader: (name: string) => headers.get(name),
      removeHeader: (name: string) => headers.delete(name),
    } as unknown as FastifyReply;
    people.learn(requestOf(cookie), reply);
  };

  test("are forgotten ten minutes after their last answer", () => {
    const people = new SignedInPeople(clock);
    answer(people, "a", "ann");
    clock.advance(599_000);
    answer(people, "a", "ann");
    clock.advance(599_000);
    expect(people.find(requestOf("a"))).toBe("ann");
    clock.advance(1_000);
    expect(people.find(requestOf("a"))).toBeUndefined();
  });

  test("are forgotten when the console says that they have ended, and not when it was not asked", () => {
    const people = new SignedInPeople(clock);
    answer(people, "a", "ann");
    answer(people, "a", undefined);
    expect(people.find(requestOf("a"))).toBe("ann");
    answer(people, "a", "nobody");
    expect(people.find(requestOf("a"))).toBeUndefined();
  });

  test("are bounded: the oldest are forgotten", () => {
    const people = new SignedInPeople(clock, 2);
    for (const cookie of ["a", "b", "c"]) answer(people, cookie, "ann");
    expect(["a", "b", "c"].map((cookie) => people.find(requestOf(cookie)))).toEqual([
      undefined,
      "ann",
      "ann",
    ]);
  });
});
