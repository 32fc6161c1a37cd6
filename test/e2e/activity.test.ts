// Activity of the running router: texts, images and videos are in it as soon as they are answered, and the numbers of keys are those of
// the credits.
import { ConsoleOperatorService } from "@gr/proto/console";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { Browser } from "./console-client.ts";
import { call } from "./http.ts";
import { serviceOf } from "./operator.ts";
import { type Router, startRouter } from "./topology.ts";

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true });
});
afterAll(() => router?.dispose());

const activity = async (search = "", key?: string) =>
  (await call(router, "GET", `/v1/activity${search}`, key === undefined ? {} : { key })).body;

test("each kind of request is summed at its answer, by key and by account, and the spend is that of the credits", async () => {
  const messages = [{ role: "user", content: "hi" }];
  const make = async (path: string, body: object, status = 200, key?: string) => {
    const answer = await call(router, "POST", `/v1/compat/${path}`, { body, ...(key && { key }) });
    expect([path, answer.status]).toEqual([path, status]);
  };
  const minted = await call(router, "POST", "/v1/api-keys", {
    key: router.managementKey,
    body: { name: "second" },
  });
  const second = minted.body.key;
  await make("images/generations", { model: "sandbox/image", prompt: "a kite" });
  expect((await activity()).total).toMatchObject({ requests: 1, errors: 0 });
  await make("videos/generations", { model: "sandbox/video", prompt: "a kite", seconds: 2 }, 200, second);
  await make("chat/completions", { model: "sandbox/chat-error", messages }, 502);
  await make("chat/completions", { model: "sandbox/chat", messages });
  expect((await activity()).total).toMatchObject({ requests: 3, errors: 1 });
  const own = (await activity("", second)).total;
  expect(own).toMatchObject({ requests: 1, errors: 0, input_tokens: 0, first_token: null });
  expect(own.latency.median).toBeGreaterThan(0);

  const credits = (await call(router, "GET", "/v1/credits?by_api_key=true")).body;
  const all = await activity("?scope=account&group=key");
  expect(all.total.spend).toBe(credits.credit_usage);
  const byKey = new Map(
    all.groups.map(({ group, spend }: { group: string; spend: string }) => [group, spend]),
  );
  for (const { api_key_id: id, credit_usage: used } of credits.usage_by_api_key) {
    expect(byKey.get(id) ?? "0.0000").toBe(used);
  }

  // Tokens and kinds follow within a second.
  await until(async () => (await activity()).total.input_tokens > 0, { timeoutMs: 60_000 });
  const kindsOf = async () => {
    const { groups } = await activity("?scope=account&group=kind");
    return groups.map(({ group }: { group: string }) => group).toSorted();
  };
  await until(async () => (await kindsOf()).includes("video"), { timeoutMs: 60_000 });
  expect(await kindsOf()).toEqual(["image", "text", "video"]);

  const csv: string = await activity("?scope=account&group=key&format=csv");
  expect(csv.trim().split("\r\n")).toHaveLength(1 + all.data.length);
  const management = await call(router, "GET", "/v1/activity", { key: router.managementKey });
  expect(management.status).toBe(401);
});

test("the console has the same numbers, and the person who created a key", async () => {
  const owner = new Browser(router);
  const people = await serviceOf(router.dataDir, "console", ConsoleOperatorService);
  const { url } = await people.createSignInLink({ email: "demo@router.localhost" });
  const token = decodeURIComponent(new URL(url).hash.replace("#token=", ""));
  expect((await owner.post("sign-in/link", { token })).status).toBe(200);
  const account = `accounts/${router.accountId}`;
  const { secret } = (await owner.post(`${account}/keys`, { name: "by a person" })).body;
  const body = { model: "sandbox/image", prompt: "a kite" };
  const answer = await call(router, "POST", "/v1/compat/images/generations", { body, key: secret });
  expect(answer.status).toBe(200);

  const members = (await owner.get(`${account}/activity?group_by=member`)).body;
  const api = await activity("?scope=account&group=member");
  expect(members.total).toEqual(api.total);
  expect(members.data).toEqual(api.data);
  const person = (await owner.get("session")).body.person;
  const own = members.groups.find(({ group }: { group: string }) => group === person.id);
  expect(own).toMatchObject({ label: person.name || person.email, requests: 1 });
  const others = members.groups.find(({ group }: { group: string }) => group === "");
  expect(others.label).toBe("Keys without a creator");

  const keys = (await owner.get(`${account}/activity.csv?group_by=key`)).body;
  expect(keys).toContain(",by a person,");
  const wrong = await owner.get(`${account}/activity?from=2026-01-02&to=2026-01-01`);
  expect([wrong.status, wrong.body.error.param]).toEqual([400, "from"]);
});
