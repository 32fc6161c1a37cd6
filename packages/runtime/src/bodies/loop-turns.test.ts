// Guarantees of LoopTurns: the loop's other work gets its share, and owners alternate.
import { describe, expect, test } from "@jest/globals";
import { LoopTurns } from "./loop-turns.ts";

/** Returns long work with steps of 5 ms, by a clock that the test moves. */
function scripted() {
  let now = 0;
  let pauses = 0;
  const pause = async () => {
    pauses += 1;
  };
  const turns = new LoopTurns(() => now, pause);
  const log: string[] = [];
  const step = (name: string, signal?: AbortSignal) =>
    turns.step({ owner: name.charAt(0), signal }, () => {
      now += 5;
      log.push(name);
      return name;
    });
  /** Keeps the loop busy for 1 ms in each of its turns. */
  const others = (count: number) => {
    if (count === 0) return;
    setImmediate(() => {
      now += 1;
      log.push(".");
      others(count - 1);
    });
  };
  return { step, others, log, pauses: () => pauses };
}

describe("long work", () => {
  test("gives other work as much of the loop as it takes itself", async () => {
    const { step, others, log } = scripted();
    others(20);
    await Promise.all([step("a1"), step("a2"), step("a3")]);
    expect(log.join("")).toBe("a1.....a2.....a3");
  });

  test("continues after a pause when the loop has nothing else to do", async () => {
    const { step, log, pauses } = scripted();
    expect(await Promise.all([step("a1"), step("a2"), step("a3")])).toEqual(["a1", "a2", "a3"]);
    expect(log).toEqual(["a1", "a2", "a3"]);
    expect(pauses()).toBeGreaterThanOrEqual(2);
  });

  test("of an owner with many steps does not delay another's", async () => {
    const { step, log } = scripted();
    await Promise.all([...Array.from({ length: 50 }, (_, n) => step(`a${n}`)), step("b")]);
    expect(log.indexOf("b")).toBeLessThan(3);
  });

  test("that is given up leaves the queue, and a step that fails ends none but itself", async () => {
    const { step, log } = scripted();
    const leaving = new AbortController();
    const left = step("b", leaving.signal);
    const works = [step("a1"), left, step("a2")];
    leaving.abort(new Error("gone"));
    await Promise.allSettled(works);
    const turns = new LoopTurns();
    const failing = turns.step({ owner: "a" }, () => {
      throw new SyntaxError("bad");
    });
    await expect(failing).rejects.toThrow("bad");
    expect(await turns.step({ owner: "a" }, () => 1)).toBe(1);
    expect(log.filter((name) => name.startsWith("a"))).toEqual(["a1", "a2"]);
  });
});
