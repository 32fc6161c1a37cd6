// Guarantees of compose: the start order of modules, and the refusal of impossible lists.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { z } from "zod";
import { inStartOrder, remoteNeeds } from "./compose.ts";
import { defineModule, type Module } from "./module.ts";
import { OperatorError } from "./process/operator-error.ts";

const moduleOf = (name: string, needs: readonly string[] = []): Module =>
  defineModule({ name, needs, config: z.object({}), create: async () => ({}) });
const names = (modules: readonly Module[]) => modules.map(({ name }) => name);

describe("start order", () => {
  test("each module comes after those of this process that it needs, whatever the order of the list", () => {
    const graph = fc
      .array(fc.array(fc.nat(9), { maxLength: 4 }), { minLength: 1, maxLength: 10 })
      .map((rows) =>
        rows.map((needs, index) =>
          moduleOf(`m${index}`, [...needs.filter((n) => n < index).map((n) => `m${n}`), "remote"]),
        ),
      );
    fc.assert(
      fc.property(graph, fc.infiniteStream(fc.nat()), (modules, order) => {
        const shuffled = modules
          .map((module) => ({ module, key: order.next().value ?? 0 }))
          .sort((a, b) => a.key - b.key)
          .map(({ module }) => module);
        const ordered = inStartOrder(shuffled);
        expect(names(ordered).sort()).toEqual(names(modules).sort());
        for (const [index, { needs }] of ordered.entries()) {
          const later = names(ordered.slice(index + 1));
          expect(needs.filter((need) => later.includes(need))).toEqual([]);
        }
      }),
    );
  });

  test("modules that do not need each other keep the order of the list", () => {
    expect(names(inStartOrder(["c", "a", "b"].map((name) => moduleOf(name))))).toEqual(["c", "a", "b"]);
  });

  test("a circle is refused with its members", () => {
    const circle = [moduleOf("a", ["b"]), moduleOf("b", ["c"]), moduleOf("c", ["a"])];
    expect(() => inStartOrder(circle)).toThrow(OperatorError);
    expect(() => inStartOrder(circle)).toThrow("a → b → c → a");
    expect(() => inStartOrder([moduleOf("a", ["a"])])).toThrow("a → a");
  });

  test("the same name twice is refused", () => {
    expect(() => inStartOrder([moduleOf("a"), moduleOf("a")])).toThrow("Module a is in this process twice.");
  });

  test("what is needed and not here is remote, each once", () => {
    const modules = [moduleOf("a", ["b", "z"]), moduleOf("b", ["y", "z"])];
    expect(remoteNeeds(modules)).toEqual(["y", "z"]);
  });
});
