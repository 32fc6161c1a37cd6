// Durability of the bill.
import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { withFolder } from "../test-client.ts";
import { Bill, type BillItem } from "./bill.ts";

function item(requestId: string, generationId: string, picoUsd: bigint): BillItem {
  return {
    requestId,
    generationId,
    model: "sandbox/chat",
    picoUsd,
    inputTokens: 1,
    outputTokens: 2,
    reasoningTokens: 1,
    finishReason: null,
    streamed: true,
    cancelled: true,
    createdAt: 1_800_000_000_000,
  };
}

describe("the bill", () => {
  test("is the same after it was opened again", () =>
    withFolder(async (folder) => {
      const first = await Bill.open(folder);
      const odd = 'odd "id"\n';
      first.record(item(odd, "gen-1", 10n ** 15n + 1n));
      first.record(item("b", "b", 0n));
      first.close();
      const second = await Bill.open(folder);
      expect(second.total).toBe(10n ** 15n + 1n);
      expect(second.items).toEqual(first.items);
      expect(second.find(odd)).toEqual(second.find("gen-1"));
      second.close();
    }));

  test("gives all items of one request, each once", async () => {
    const bill = await Bill.open(undefined);
    bill.record(item("a", "gen-1", 1n));
    bill.record(item("a", "gen-2", 2n));
    bill.record(item("a", "gen-3", 3n));
    expect(bill.find("a").map(({ picoUsd }) => picoUsd)).toEqual([1n, 2n, 3n]);
    expect(bill.find("gen-2").map(({ picoUsd }) => picoUsd)).toEqual([2n]);
    expect(bill.find("nobody")).toEqual([]);
  });

  test("is its owner's only, also one that was made for everybody", () =>
    withFolder(async (folder) => {
      for (const mode of [0o644, undefined]) {
        const file = join(folder, String(mode), "bill.jsonl");
        if (mode !== undefined) {
          mkdirSync(dirname(file));
          writeFileSync(file, "", { mode });
        }
        (await Bill.open(dirname(file))).close();
        expect(statSync(file).mode & 0o777).toBe(0o600);
      }
    }));

  test("drops a line whose write was interrupted, and goes on from there", () =>
    withFolder(async (folder) => {
      const first = await Bill.open(folder);
      first.record(item("a", "gen-1", 1n));
      first.close();
      // Longer than the block in which the last newline is looked for.
      appendFileSync(join(folder, "bill.jsonl"), `{"request_id":"${"torn".repeat(50_000)}`);
      const second = await Bill.open(folder);
      expect(second.total).toBe(1n);
      second.record(item("b", "gen-2", 2n));
      second.close();
      const third = await Bill.open(folder);
      expect(third.total).toBe(3n);
      third.close();
      expect(readFileSync(join(folder, "bill.jsonl"), "utf8").trim().split("\n")).toHaveLength(2);
    }));

  test("is empty when nothing but a torn line was ever written", () =>
    withFolder(async (folder) => {
      writeFileSync(join(folder, "bill.jsonl"), '{"request_id":');
      const bill = await Bill.open(folder);
      expect(bill.items).toEqual([]);
      bill.close();
    }));

  test("refuses to open damaged rather than forget a cost", () =>
    withFolder(async (folder) => {
      const bill = await Bill.open(folder);
      bill.record(item("a", "gen-1", 1n));
      bill.close();
      appendFileSync(join(folder, "bill.jsonl"), "garbage\n");
      await expect(Bill.open(folder)).rejects.toThrow(/bill\.jsonl, line 2/);
    }));

  test("books nothing once it is closed", async () => {
    const bill = await Bill.open(undefined);
    bill.close();
    expect(() => bill.record(item("a", "gen-1", 1n))).toThrow("closed");
    expect(bill.total).toBe(0n);
  });
});
