// The gate: never more at a time than it allows, nobody forgotten.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { createGate } from "./gate.ts";

test("runs every task once, in order of arrival, and never more than the limit at a time, whoever fails", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.boolean(), { maxLength: 30 }),
      fc.scheduler(),
      async (limit, tasks, scheduler) => {
        const gate = createGate(limit);
        const started: number[] = [];
        let running = 0;
        const results = tasks.map((fails, index) =>
          gate(async () => {
            started.push(index);
            running += 1;
            expect(running).toBeLessThanOrEqual(limit);
            await scheduler.schedule(Promise.resolve());
            running -= 1;
            if (fails) throw new Error("failed");
            return index;
          }),
        );
        const settled = Promise.allSettled(results);
        await scheduler.waitFor(settled);
        expect(started).toEqual(tasks.map((_, index) => index));
        expect((await settled).map(({ status }) => status === "rejected")).toEqual(tasks);
      },
    ),
    { numRuns: 50 },
  );
});
