// Guarantees of authentication: admitted keys, and the errors of all others, over real HTTP in both topologies.

import { createKeySecret } from "@gr/identity";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { routeTable } from "./routes.ts";
import { call, errorOf } from "./test/call.ts";
import type { FakeKey } from "./test/fake-keys.ts";
import type { Seen } from "./test/fake-modules.ts";
import { type Ring, startRing, topologies } from "./test/ring.ts";

/** A path that exists under each prefix of the table. */
const EXAMPLES: Record<string, { path: string; body?: object }> = {
  "/v1/compat/chat/completions": { path: "/v1/compat/chat/completions", body: {} },
  "/v1/compat/responses": { path: "/v1/compat/responses", body: {} },
  "/v1/compat/images": { path: "/v1/compat/images/generations", body: {} },
  "/v1/compat/videos": { path: "/v1/compat/videos/generations", body: {} },
  "/v1/quote/chat/completions": { path: "/v1/quote/chat/completions", body: {} },
  "/v1/quote/responses": { path: "/v1/quote/responses", body: {} },
  "/v1/quote/images": { path: "/v1/quote/images/generations", body: {} },
  "/v1/quote/videos": { path: "/v1/quote/videos/generations", body: {} },
  "/console/api": { path: "/console/api/session" },
  "/v1/account/webhooks": { path: "/v1/account/webhooks/receivers" },
  "/v1/webhooks": { path: "/v1/webhooks/deliveries" },
  "/webhooks/stripe": { path: "/webhooks/stripe" },
  "/media": { path: "/media/some/file.webp" },
  "/v1/models": { path: "/v1/models/a%2Fb" },
  "/v1/compat/models": { path: "/v1/compat/models" },
  "/v1/api-keys": { path: "/v1/api-keys" },
  "/v1/auth": { path: "/v1/auth/test", body: {} },
  "/v1/credits": { path: "/v1/credits?by_api_key=true" },
};

describe.each(topologies)("authentication, %s", (topology) => {
  let ring: Ring;
  let normal: FakeKey;
  let management: FakeKey;
  const url = (path: string) => `${ring.baseUrl}${path}`;

  beforeAll(async () => {
    ring = await startRing(topology);
    normal = ring.keys.add("normal");
    management = ring.keys.add("management");
  });
  afterAll(() => ring.stop());

  describe.each(routeTable)("$prefix", ({ prefix, access }) => {
    const { path, body } = EXAMPLES[prefix] ?? { path: prefix };
    const send = (key?: string) =>
      call(url(path), { ...(key === undefined ? {} : { key }), ...(body === undefined ? {} : { body }) });

    test("a normal key gets in where its kind is wanted, and the module knows whose it is", async () => {
      const answer = await send(normal.secret);
      if (access === "management") {
        expect(answer.status).toBe(401);
        expect(errorOf(answer)).toMatchObject({ type: "unauthorized", code: "wrong_key_kind" });
        expect(errorOf(answer).message).toContain("management key is required");
        return;
      }
      expect(answer.status).toBe(200);
      const { accountId, keyId } = normal;
      expect((answer.body as Seen).principal).toEqual(
        access === "public" ? null : { accountId, keyId, kind: "normal" },
      );
    });

    test("a management key gets in where keys are managed and nowhere else", async () => {
      const answer = await send(management.secret);
      if (access === "management" || access === "public") {
        expect(answer.status).toBe(200);
        return;
      }
      expect(answer.status).toBe(401);
      expect(errorOf(answer)).toMatchObject({ type: "unauthorized", code: "wrong_key_kind" });
    });

    test("a web token gets in where a normal key does, as what it is", async () => {
      const expiresAt = Date.now() + 240_000;
      const token = ring.keys.addWebToken(expiresAt);
      const answer = await send(token.secret);
      if (access === "management") {
        expect(answer.status).toBe(401);
        expect(errorOf(answer)).toMatchObject({ type: "unauthorized", code: "wrong_key_kind" });
        expect(errorOf(answer).message).toMatch(/management key is required.*web token/);
        return;
      }
      expect(answer.status).toBe(200);
      const { accountId } = token;
      expect((answer.body as Seen).principal).toEqual(
        access === "public" ? null : { accountId, keyId: accountId, kind: "web_token", expiresAt },
      );
      if (access === "public") return;
      const late = ring.keys.addWebToken(Date.UTC(2024, 1, 29, 12));
      const refused = await send(late.secret);
      expect(refused.status).toBe(401);
      expect(errorOf(refused)).toMatchObject({ type: "unauthorized", code: "api_key_expired" });
      expect(errorOf(refused).message).toBe("This web token expired at 2024-02-29T12:00:00.000Z.");
    });

    test("without a header only open routes answer", async () => {
      const answer = await send();
      const isOpen = access === "public" || access === "optional";
      expect(answer.status).toBe(isOpen ? 200 : 401);
      if (isOpen) {
        expect((answer.body as Seen).principal).toBeNull();
        return;
      }
      expect(errorOf(answer)).toMatchObject({ type: "unauthorized", code: "invalid_api_key" });
      expect(errorOf(answer).message).toContain("missing");
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    });

    test("unknown, deleted and malformed keys are told the same", async () => {
      const deleted = ring.keys.add("normal");
      ring.keys.delete(deleted);
      const secrets = [
        deleted.secret,
        createKeySecret("normal"),
        createKeySecret("management"),
        "gr_live_short",
      ];
      const answers = await Promise.all(secrets.map((secret) => send(secret)));
      if (access === "public") return;
      const [first] = answers;
      expect(first?.status).toBe(401);
      for (const answer of answers) {
        expect(answer.status).toBe(401);
        expect(answer.body).toEqual(first?.body);
      }
      expect(JSON.stringify(first?.body)).not.toContain("table");
    });

    test("an expired key is told when it expired", async () => {
      if (access === "public") return;
      const expired = ring.keys.add("normal", { expiresAt: Date.UTC(2024, 1, 29, 12) });
      const answer = await send(expired.secret);
      expect(answer.status).toBe(401);
      expect(errorOf(answer)).toMatchObject({ type: "unauthorized", code: "api_key_expired" });
      expect(errorOf(answer).message).toContain("2024-02-29T12:00:00.000Z");
    });
  });

  test("the scheme's case does not matter, everything else does", async () => {
    const send = async (authorization: string) =>
      (await call(url("/v1/credits"), { headers: { authorization } })).status;
    expect(await send(`bearer ${normal.secret}`)).toBe(200);
    expect(await send(`BEARER  ${normal.secret}`)).toBe(200);
    for (const wrong of [
      normal.secret,
      `Basic ${normal.secret}`,
      `Bearer ${normal.secret} ${normal.secret}`,
      `Bearer ${normal.secret},`,
      "Bearer",
      "Bearer ",
      `Bearer ${normal.secret.toUpperCase()}`,
      `Bearer ${"a".repeat(10_000)}`,
    ]) {
      expect([wrong.slice(0, 60), await send(wrong)]).toEqual([wrong.slice(0, 60), 401]);
    }
  });

  test("a malformed key or token is refused without asking the keys service", async () => {
    const before = ring.keys.lookUps;
    const oneOff = normal.secret.slice(0, -1) + (normal.secret.endsWith("0") ? "1" : "0");
    const { secret: token } = ring.keys.addWebToken(Date.now() + 60_000);
    const [header, payload, signature = ""] = token.split(".");
    const noTokens = [
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${header}.${payload}.${signature.slice(0, -1)}`,
      `${header}.${payload}.${signature}.`,
      `${header}.${payload}${"A".repeat(1_024)}.${signature}`,
      `x${token}`,
    ];
    for (const secret of ["x", "gr_live_", oneOff, ...noTokens]) {
      expect((await call(url("/v1/credits"), { key: secret })).status).toBe(401);
      expect((await call(url("/v1/compat/responses"), { key: secret, body: {} })).status).toBe(401);
    }
    expect(ring.keys.lookUps).toBe(before);
  });

  test("a deleted key stops at once wherever nothing is spent", async () => {
    const key = ring.keys.add("normal");
    const probes = ["/v1/credits", "/v1/models"];
    for (const path of probes) expect((await call(url(path), { key: key.secret })).status).toBe(200);
    expect((await call(url("/v1/compat/responses"), { key: key.secret, body: {} })).status).toBe(200);
    ring.keys.delete(key);
    for (const path of probes) expect((await call(url(path), { key: key.secret })).status).toBe(401);
    expect((await call(url("/v1/auth/test"), { key: key.secret, body: {} })).status).toBe(401);
    // The refusal replaces the earlier answer in the cache.
    expect((await call(url("/v1/compat/responses"), { key: key.secret, body: {} })).status).toBe(401);
  });

  test("requests of a web token that spend ask the keys service once for many", async () => {
    const { secret } = ring.keys.addWebToken(Date.now() + 240_000);
    const before = ring.keys.lookUps;
    for (let round = 0; round < 3; round += 1) {
      const answer = await call(url("/v1/compat/responses"), { key: secret, body: {} });
      expect(answer.status).toBe(200);
    }
    expect(ring.keys.lookUps - before).toBe(1);
  });

  test("every way to miss the header has its sentence, on each management route too", async () => {
    for (const [method, path] of [
      ["POST", "/v1/api-keys"],
      ["GET", "/v1/api-keys"],
      ["DELETE", "/v1/api-keys/some-id"],
      ["POST", "/v1/auth/test"],
      ["GET", "/v1/credits"],
    ] as const) {
      const send = async (headers: Record<string, string>) => {
        const body = method === "POST" ? { name: "k" } : undefined;
        return call(url(path), { method, headers, ...(body === undefined ? {} : { body }) });
      };
      for (const [headers, sentence] of [
        [{}, "The Authorization header is missing; send Authorization: Bearer <API key>."],
        [{ authorization: "" }, "The Authorization header must be Bearer <API key>."],
        [{ authorization: "Basic eDp5" }, "The Authorization header must be Bearer <API key>."],
        [{ authorization: management.secret }, "The Authorization header must be Bearer <API key>."],
        [{ authorization: "Bearer gr_mgmt_nonsense" }, "The API key is not valid."],
        [{ authorization: `Bearer ${createKeySecret("management")}` }, "The API key is not valid."],
      ] as const) {
        const answer = await send(headers);
        expect({ method, path, status: answer.status, ...errorOf(answer) }).toEqual({
          method,
          path,
          status: 401,
          type: "unauthorized",
          code: "invalid_api_key",
          message: sentence,
        });
      }
      const right = path.startsWith("/v1/api-keys") ? management : normal;
      const status = (await send({ authorization: `bearer ${right.secret}` })).status;
      expect({ method, path, welcome: status < 300 }).toEqual({ method, path, welcome: true });
      const other = right === normal ? management : normal;
      const wrong = await send({ authorization: `bearer ${other.secret}` });
      expect([wrong.status, errorOf(wrong).code]).toEqual([401, "wrong_key_kind"]);
    }
  });

  test("requests that spend ask the keys service once for many", async () => {
    const key = ring.keys.add("normal");
    const before = ring.keys.lookUps;
    const send = () => call(url("/v1/compat/responses"), { key: key.secret, body: {} });
    const together = await Promise.all(Array.from({ length: 20 }, send));
    expect(together.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect((await send()).status).toBe(200);
    expect(ring.keys.lookUps - before).toBe(1);
  });

  test("when keys cannot be checked the answer is 503 and says nothing of the inside", async () => {
    const key = ring.keys.add("normal");
    ring.keys.broken = true;
    try {
      const answers = [
        await call(url("/v1/credits"), { key: key.secret }),
        await call(url("/v1/compat/responses"), { key: key.secret, body: {} }),
      ];
      for (const answer of answers) {
        expect(answer.status).toBe(503);
        expect(errorOf(answer)).toMatchObject({ type: "internal_error", code: "service_unavailable" });
        expect(JSON.stringify(answer.body)).not.toContain("database");
        expect(answer.headers.get("retry-after")).toBe("1");
      }
      // Routes without a key still work.
      expect((await call(url("/v1/models"))).status).toBe(200);
    } finally {
      ring.keys.broken = false;
    }
    expect((await call(url("/v1/compat/responses"), { key: key.secret, body: {} })).status).toBe(200);
  });

  test("nothing that a client says about itself reaches a module", async () => {
    const forged = {
      "x-gr-principal": Buffer.from(
        JSON.stringify({ ...management, accountId: "other", kind: "management" }),
      ).toString("base64url"),
      "x-gr-anything": "1",
      "x-request-id": "mine",
      "x-forwarded-for": "10.0.0.1",
      "x-forwarded-host": "evil",
      "x-real-ip": "10.0.0.1",
      forwarded: "for=10.0.0.1",
      cookie: "session=1",
      "idempotency-key": "abc",
    };
    const answer = await call(url("/v1/credits"), { key: normal.secret, headers: forged });
    const seen = answer.body as Seen;
    expect(seen.principal).toEqual({ accountId: normal.accountId, keyId: normal.keyId, kind: "normal" });
    expect(seen.requestId).toBe(answer.headers.get("x-request-id"));
    expect(seen.headers["idempotency-key"]).toBe("abc");
    const text = JSON.stringify(seen.headers);
    for (const word of ["10.0.0.1", "evil", "session", "mine", "anything", normal.secret]) {
      expect(text).not.toContain(word);
    }
  });

  test("a forged principal does not open a route to a caller without a key", async () => {
    const principal = JSON.stringify({ accountId: normal.accountId, keyId: normal.keyId, kind: "normal" });
    for (const token of [principal, Buffer.from(principal).toString("base64url"), `${"a.".repeat(2)}b`]) {
      const headers = { "x-gr-principal": token };
      expect((await call(url("/v1/credits"), { headers })).status).toBe(401);
      expect(((await call(url("/v1/models"), { headers })).body as Seen).principal).toBeNull();
    }
  });
});
