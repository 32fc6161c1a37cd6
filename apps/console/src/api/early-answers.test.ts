// Guarantees of early answers: they are those of the application's first requests, each is read once, and none outlives a change.
import { afterEach, expect, jest, test } from "@jest/globals";
import { urlOf } from "./console-client.ts";
import { askEarly, earlyAnswer, homeUrl, SESSION_URL } from "./early-answers.ts";

const ACCOUNT = "0192f0c1-0000-7000-8000-000000000001";
const { fetch } = globalThis;

afterEach(() => {
  globalThis.fetch = fetch;
  earlyAnswer("", "POST");
});

test("they have the addresses of the session and of Home", () => {
  expect(SESSION_URL).toBe(urlOf("readSession", {}));
  expect(homeUrl(ACCOUNT)).toBe(urlOf("readHome", { account: ACCOUNT }));
});

test("the first request gets the answer, and the next one asks anew", () => {
  const answer = Promise.resolve(new Response());
  globalThis.fetch = jest.fn(() => answer);
  askEarly(SESSION_URL);
  expect(earlyAnswer(homeUrl(ACCOUNT))).toBeUndefined();
  expect(earlyAnswer(SESSION_URL)).toBe(answer);
  expect(earlyAnswer(SESSION_URL)).toBeUndefined();
});

test("after a sign-in no answer from before is left", () => {
  globalThis.fetch = jest.fn(async () => new Response());
  askEarly(homeUrl(ACCOUNT));
  expect(earlyAnswer("/console/api/sign-in", "POST")).toBeUndefined();
  expect(earlyAnswer(homeUrl(ACCOUNT))).toBeUndefined();
});
