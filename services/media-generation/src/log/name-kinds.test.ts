// Billing knows the kind of each model of images and videos soon after the catalogue has it, also if a call fails.

import { create } from "@bufbuild/protobuf";
import { ModelKind, ModelSchema } from "@gr/proto/catalog";
import { ManualClock, until } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { startNamingKinds } from "./name-kinds.ts";

test("kinds are sent once for each version, and again after a failure", async () => {
  const clock = new ManualClock(0);
  const sent: unknown[] = [];
  const errors: unknown[] = [];
  let version = "1";
  let isBroken = true;
  const models = [
    create(ModelSchema, { id: "a", kind: ModelKind.IMAGE }),
    create(ModelSchema, { id: "b", kind: ModelKind.VIDEO }),
    create(ModelSchema, { id: "c", kind: ModelKind.TEXT }),
  ];
  const stop = startNamingKinds({
    catalog: { version: () => version, models: () => models },
    activity: {
      nameModelKinds: async ({ models: named }) => {
        if (isBroken) throw new Error("billing is away");
        sent.push(named);
        return {} as never;
      },
    },
    clock,
    failed: (error) => errors.push(error),
  });
  const sentTimes = (times: number) =>
    until(
      async () => {
        clock.advance(10_000);
        return sent.length === times;
      },
      { timeoutMs: 10_000 },
    );
  await until(async () => errors.length === 1, { timeoutMs: 10_000 });
  isBroken = false;
  await sentTimes(1);
  for (let round = 0; round < 3; round += 1) await clock.advance(10_000);
  const both = [
    { model: "a", kind: "image" },
    { model: "b", kind: "video" },
  ];
  expect(sent).toEqual([both]);
  version = "2";
  await sentTimes(2);
  expect(sent).toEqual([both, both]);
  await stop();
});
