// Guarantees of timelines: sections follow one another without a gap, and end with the request.
import type { RequestRecord } from "@gr/console-api";
import { expect, test } from "@jest/globals";
import { timelineOf } from "./request-timeline.ts";

const UNKNOWN = { queued: null, first_byte: null, made: null, stored: null };
const record = (fields: object) => ({ attempts: [], latency: null, ...fields }) as unknown as RequestRecord;
const attempt = (provider: string, outcome: string, latency: number) => ({ provider, outcome, latency });
const texts = (fields: object) =>
  timelineOf(record(fields)).map(({ label, from, to, kind }) => `${from}–${to} ${label} (${kind})`);

test("an image: checks, a failed attempt, the work of the second provider, storage", () => {
  expect(
    texts({
      timing: { queued: 20, first_byte: null, made: 5_880, stored: 6_420 },
      attempts: [attempt("fal", "rate_limited", 410), attempt("bfl", "delivered", 5_990)],
      latency: 6_420,
    }),
  ).toEqual([
    "0–20 Checked and held (ours)",
    "20–430 fal (failed)",
    "430–5880 bfl, making (made)",
    "5880–6420 Stored and charged (ours)",
  ]);
});

test("a stream: the wait for the first token, and the answer", () => {
  expect(
    texts({
      timing: { ...UNKNOWN, first_byte: 300 },
      attempts: [attempt("openai", "delivered", 1_100)],
      latency: 1_200,
    }),
  ).toEqual(["0–300 openai, first token (waiting)", "300–1200 openai, answer (made)"]);
});

test("a running request has the sections that have ended, and an old record none", () => {
  const running = { timing: { ...UNKNOWN, queued: 15 }, attempts: [attempt("fal", "timeout", 100)] };
  expect(texts(running)).toEqual(["0–15 Checked and held (ours)", "15–115 fal (failed)"]);
  expect(texts({ timing: UNKNOWN })).toEqual([]);
});
