// Billing knows the kind of each model of images and videos soon after the catalogue has it, also if a call fails.
import { create } from "@bufbuild/protobuf";
import { ModelKind, ModelSchema } from "@gr/proto/catalog";
import { until } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { startNamingKinds } from "./name-kinds.ts";

test("kinds are sent once for each version, and again after a failure", async () => {
  const sent: unknown[] = [];
  const errors: unknown[] = [];
  let [version, isBroken, rounds] = ["1", true, 0];
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
    clock: {
      now: () => 0,
      sleep: async () => {
        rounds += 1;
        await new Promise((resolve) => setImmediate(resolve));
      },
    },
    failed: (error) => errors.push(error),
  });
  const moreRounds = async () => {
    const before = rounds;
    await until(async () => rounds > before + 2, { timeoutMs: 60_000 });
  };
  await moreRounds();
  expect(errors).toHaveLength(1);
  isBroken = false;
  await moreRounds();
  const both = [
    { model: "a", kind: "image" },
    { model: "b", kind: "video" },
  ];
  expect(sent).toEqual([both]);
  version = "2";
  await moreRounds();
  expect(sent).toEqual([both, both]);
  await stop();
});
