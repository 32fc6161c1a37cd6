// Guarantees of FairGate: bounds, fair order, and works that cancel their wait.
import { describe, expect, test } from "@jest/globals";
import { FairGate, type FairGateOptions } from "./fair-gate.ts";

const OPTIONS: FairGateOptions = { places: 2, perOwner: 1, waitingPerOwner: 3, waiting: 5, name: "works" };

/** Returns a gate with works that end on the test's command, and the order in which they began. */
function scriptedGate(options: Partial<FairGateOptions> = {}) {
  const gate = new FairGate({ ...OPTIONS, ...options });
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  const start = (name: string, more: { cost?: number; signal?: AbortSignal } = {}) => {
    const owner = name.charAt(0);
    return gate.run({ owner, ...more }, async () => {
      began.push(name);
      await new Promise<void>((end) => ends.set(name, end));
      return name;
    });
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { began, start, end };
}

describe("a fair gate", () => {
  test("keeps a place free for another owner, whatever one owner queues", async () => {
    const { began, start, end } = scriptedGate();
    const works = [start("a1"), start("a2"), start("a3"), start("b1")];
    expect(began).toEqual(["a1", "b1"]);
    for (const name of ["a1", "a2", "a3", "b1"]) await end(name);
    expect(await Promise.all(works)).toEqual(["a1", "a2", "a3", "b1"]);
  });

  test("begins next the owner with the least cost so far, and a newcomer is not behind a queue", async () => {
    const { began, start, end } = scriptedGate({ places: 1 });
    const works = [start("a1", { cost: 9 }), start("a2"), start("b1"), start("b2"), start("a3")];
    for (const name of ["a1", "b1", "b2", "a2", "a3"]) await end(name);
    await Promise.all(works);
    expect(began).toEqual(["a1", "b1", "b2", "a2", "a3"]);
  });

  test("gives no credit for idle time", async () => {
    const { began, start, end } = scriptedGate({ places: 1 });
    const early = start("b1");
    await end("b1");
    await early;
    const works = [start("a1", { cost: 5 }), start("a2", { cost: 5 }), start("b2"), start("b3")];
    for (const name of ["a1", "b2", "b3", "a2"]) await end(name);
    await Promise.all(works);
    expect(began).toEqual(["b1", "a1", "b2", "b3", "a2"]);
  });

  test("refuses what would wait beyond the bound of one owner, or of all", async () => {
    const { start, end } = scriptedGate({ places: 1 });
    const works = [start("a1"), start("a2"), start("a3"), start("a4")];
    await expect(start("a5")).rejects.toMatchObject({ reason: "rate_limit_exceeded" });
    works.push(start("b1"), start("c1"));
    await expect(start("d1")).rejects.toMatchObject({ reason: "service_unavailable" });
    for (const name of ["a1", "b1", "c1", "a2", "a3", "a4"]) await end(name);
    expect((await Promise.all(works)).length).toBe(6);
  });

  test("never begins a work whose signal aborts while it waits", async () => {
    const { began, start, end } = scriptedGate({ places: 1 });
    const leaves = new AbortController();
    const works = [start("a1"), start("b1", { signal: leaves.signal }), start("c1")];
    const left = expect(works[1]).rejects.toThrow("gone");
    leaves.abort(new Error("gone"));
    await left;
    await end("a1");
    await end("c1");
    expect(began).toEqual(["a1", "c1"]);
    await expect(start("d1", { signal: leaves.signal })).rejects.toThrow("gone");
  });

  test("frees the place of a work that fails", async () => {
    const gate = new FairGate({ ...OPTIONS, places: 1 });
    await expect(gate.run({ owner: "a" }, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await gate.run({ owner: "a" }, async () => 1)).toBe(1);
  });
});
