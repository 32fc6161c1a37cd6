// Commands on webhooks: receivers, the signing secret, and the log of deliveries.
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type RouterUnderTest, startRouter } from "../test/start-router.ts";

const ACCOUNT = "0190c0de-0000-7000-8000-00000000000a";
const of = ["--account", ACCOUNT] as const;

let router: RouterUnderTest;
beforeAll(async () => {
  router = await startRouter();
});
afterAll(() => router?.stop());

const text = async (...args: string[]) => (await router.cli("webhook", ...args, ...of)).out;

test("receivers are set, shown and removed; a secret is printed once, and its age afterwards", async () => {
  expect(await text("show")).toBe("There is no default receiver.\n\nThere is no signing secret yet.\n");
  expect(await text("set", "--url", "https://a.example/")).toBe(
    `account ${ACCOUNT} has the receiver https://a.example/.\n`,
  );
  expect(await text("set", "--key", "k", "--url", "https://k.example/")).toMatch(/^key k has/);
  expect(await text("rotate-secret")).toMatch(/^whsec_1\nCopy this secret now/);
  expect(await router.json("webhook", "show", ...of)).toEqual({
    receivers: [
      { key_id: null, url: "https://a.example/" },
      { key_id: "k", url: "https://k.example/" },
    ],
    secrets: [{ created_at: "2027-01-01T00:00:00.000Z", expires_at: null }],
  });
  expect(await text("show")).not.toContain("whsec_");
  expect(await text("set")).toBe(`The default receiver of account ${ACCOUNT} is removed.\n`);
  expect((await router.json("webhook", "show", ...of)).receivers).toHaveLength(1);
});

test("deliveries are listed by state and key, and an ended one is redelivered", async () => {
  expect(await text("list")).toMatch(/evt_7 +video.completed +failed +10 +500 +2027/);
  expect(await text("list", "--state", "pending")).toBe("There are no such deliveries.\n");
  expect((await router.json("webhook", "list", "--key", "k", ...of)).deliveries).toMatchObject([
    {
      id: "evt_7",
      key_id: "k",
      state: "failed",
      last_error: "the receiver answered 500",
      next_attempt_at: null,
    },
  ]);
  expect(await text("redeliver", "--id", "evt_7")).toBe("The delivery evt_7 is sent again.\n");
  expect((await router.json("webhook", "list", "--state", "pending", ...of)).deliveries).toHaveLength(1);
  const { code, err } = await router.cli("webhook", "redeliver", "--id", "evt_8", ...of);
  expect([code, err]).toEqual([1, expect.stringContaining("no webhook delivery")]);
});
