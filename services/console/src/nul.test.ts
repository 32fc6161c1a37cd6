// NUL in a string: PostgreSQL has no text with it. Every route refuses it and names the field, before anything is written.
import { type ConsoleRoute, consoleRoutes } from "@gr/console-api";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { type Browser, type ConsoleUnderTest, startConsole } from "./test/start-console.ts";

const NUL = "a\0b";
/** A value for each required field of any body. */
const GOOD = {
  email: "a@example.com",
  password: "correct horse battery",
  current_password: "correct horse battery",
  new_password: "correct horse battery",
  token: "token",
  name: "name",
  role: "viewer",
  answer: "code=1",
  passkey: { id: "id", type: "public-key", response: { clientDataJSON: "x" } },
  amount: "1.00",
  reason: "reason",
  id: "00000000-0000-4000-8000-000000000000",
  is_suspended: true,
  low_balance: null,
  budget_percents: [],
  failure_percent: null,
  by_mail: false,
  is_on: false,
  threshold: "1.00",
  monthly_limit: "1.00",
  spend_limit: "1.00",
};

let served: ConsoleUnderTest;
let caller: Browser;
beforeAll(async () => {
  served = await startConsole({ CONSOLE_SIGN_UP: "open" });
  caller = await served.signedIn("owner@example.com", "owner");
  const { id } = (await caller.get("session")).body.person;
  await served.pool.query("INSERT INTO operator (person_id) VALUES ($1)", [id]);
});
afterAll(() => served?.stop());

const send = ({ method, path }: ConsoleRoute, query = "", body?: unknown, id = "x") => {
  const named = path
    .replace("/console/api/", "")
    .replace(":account", served.accountId)
    .replaceAll(/:\w+/g, id);
  return caller.ask(method, `${named}${query}`, body);
};

function membersOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }).properties ?? {};
}

/** Returns a good value for each member that has one. */
function goodBody({ body }: ConsoleRoute): object {
  const members = body === undefined ? {} : membersOf(body);
  return Object.fromEntries(Object.entries(GOOD).filter(([field]) => field in members));
}

/** Names of the members that may be a string. */
function stringFields(schema: z.ZodType | undefined): string[] {
  if (schema === undefined) return [];
  const properties = membersOf(schema);
  return Object.entries(properties).flatMap(([field, part]) =>
    /"type":"string"|"enum"/.test(JSON.stringify(part)) ? [field] : [],
  );
}

const table = Object.entries<ConsoleRoute>(consoleRoutes);
const bodies = table.flatMap(([route, { body }]) => stringFields(body).map((field) => ({ route, field })));
const queries = table.flatMap(([route, { query }]) => stringFields(query).map((field) => ({ route, field })));
const routeOf = (name: string) => Object.fromEntries(table)[name] as ConsoleRoute;

describe("a NUL", () => {
  test.each(bodies)("in $field of the body of $route", async ({ route, field }) => {
    const value = field === "passkey" ? { ...GOOD.passkey, id: NUL } : NUL;
    const { status, body } = await send(routeOf(route), "", { ...goodBody(routeOf(route)), [field]: value });
    expect([status, body.error.param]).toEqual([400, field === "passkey" ? "passkey.id" : field]);
  });

  test.each(queries)("in $field of the query of $route", async ({ route, field }) => {
    const { status, body } = await send(routeOf(route), `?${field}=%00`);
    expect([status, body.error.param]).toEqual([400, field]);
  });

  const named = table.filter(([, { path }]) => /:(?!account\b)\w+/.test(path)).map(([route]) => route);
  test.each(named)("in the path of %s", async (route) => {
    const body = routeOf(route).method === "GET" ? undefined : goodBody(routeOf(route));
    // The id of nothing: nothing is found, or the service that would look for it is away.
    expect([204, 404, 503]).toContain((await send(routeOf(route), "", body, "%00")).status);
  });

  test("deep in what a browser has answered, and in a name there", async () => {
    const passkey = { ...GOOD.passkey, response: { clientDataJSON: "x", transports: ["usb", NUL] } };
    const { body } = await send(routeOf("finishPasskeySignIn"), "", { passkey });
    expect(body.error).toMatchObject({
      param: "passkey.response.transports[1]",
      message: 'It must not contain a NUL character (field "passkey.response.transports[1]").',
    });
    const named = await send(routeOf("finishPasskeySignIn"), "", { passkey: { ...GOOD.passkey, [NUL]: 1 } });
    expect(named.status).toBe(400);
  });

  test("in the cookie of a session lets nobody in", async () => {
    const browser = served.browser();
    browser.cookies.set("gr_session", "%00.%00");
    browser.cookies.set("gr_challenge", "%00");
    expect(await browser.who()).toBeUndefined();
  });
});
