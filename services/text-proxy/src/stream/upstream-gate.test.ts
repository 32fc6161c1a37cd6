// An upstream continues only if no holder pauses it.
import { expect, test } from "@jest/globals";
import { UpstreamGate } from "./upstream-gate.ts";

test("it waits for as long as one of several holds it back", () => {
  const calls: string[] = [];
  const gate = new UpstreamGate({ pause: () => calls.push("pause"), resume: () => calls.push("resume") });
  const [client, money] = [gate.handle(), gate.handle()];
  client.pause();
  money.pause();
  client.resume();
  client.resume();
  expect(calls).toEqual(["pause", "pause"]);
  money.resume();
  expect(calls).toEqual(["pause", "pause", "resume"]);
});
