// Sums of the log wait for each other, and only for their callers.
import { create } from "@bufbuild/protobuf";
import { SumTextsResponseSchema } from "@gr/proto/billing";
import { ListGenerationsRequestSchema, SumGenerationsRequestSchema } from "@gr/proto/media";
import { expect, test } from "@jest/globals";
import { type LogCallsDeps, logCalls } from "./log-rpc.ts";

test("a sum whose caller ends while it waits never begins", async () => {
  const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let sums = 0;
  const sumTexts = async () => {
    sums += 1;
    begun.resolve();
    await ended.promise;
    return create(SumTextsResponseSchema);
  };
  const generationLog = { sum: async () => ({ oldestAt: undefined, sums: [], latencies: [] }) };
  const calls = logCalls({ generationLog, texts: { sumTexts } } as unknown as LogCallsDeps);
  const filter = create(ListGenerationsRequestSchema, {
    accountId: "00000000-0000-4000-8000-000000000001",
    texts: true,
  });
  const callers = [1, 2, 3].map(() => new AbortController());
  const answers = Promise.allSettled(
    callers.map(({ signal }) =>
      calls.sumGenerations(create(SumGenerationsRequestSchema, { filter }), { signal }),
    ),
  );
  await begun.promise;
  callers[1]?.abort();
  ended.resolve();
  expect((await answers).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect(sums).toBe(2);
});
