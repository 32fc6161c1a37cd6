// Properties that the table must keep for its look-up to be right.
import { describe, expect, test } from "@jest/globals";
import { mountPoints, routeTable, rowOf } from "./routes.ts";

describe("the route table", () => {
  test("no prefix lies under another, so the order of rows does not matter", () => {
    for (const row of routeTable) {
      const others = routeTable.filter((other) => other !== row);
      expect(
        others.filter(({ prefix }) => prefix === row.prefix || prefix.startsWith(`${row.prefix}/`)),
      ).toEqual([]);
    }
  });

  test.each(routeTable)("$prefix matches itself and what lies under it, in whole segments", (row) => {
    for (const rest of ["", "/", "?a=b", "/x", "/x/y?z=/v1/credits"]) {
      expect(rowOf(row.prefix + rest, "POST")).toBe(row);
      expect(rowOf(row.prefix + rest, "GET")).toBe(row.reads ?? row);
    }
    for (const rest of ["x", "-", ".", "%2F", "%3F", ";", "#", "\\"]) {
      expect(rowOf(row.prefix + rest, "POST")).toBeUndefined();
    }
    expect(rowOf(row.prefix.slice(0, -1), "POST")).toBeUndefined();
    expect(rowOf(`/${row.prefix}`, "POST")).toBeUndefined();
    expect(rowOf(row.prefix.toUpperCase(), "POST")).toBeUndefined();
  });

  test("only routes whose key billing checks again may rest on a recent verification", () => {
    const spending = routeTable.filter(({ spends }) => spends).map(({ prefix }) => prefix);
    expect(spending).toEqual([
      "/v1/compat/chat/completions",
      "/v1/compat/responses",
      "/v1/compat/images",
      "/v1/compat/videos",
    ]);
    for (const { access } of routeTable.filter(({ spends }) => spends)) expect(access).toBe("normal");
  });

  test("only what generates may leave its client without a word for long", () => {
    for (const { prefix, spends, longestSilenceMs } of routeTable) {
      expect([prefix, longestSilenceMs === undefined]).toEqual([prefix, spends]);
    }
  });

  test("every prefix is mounted", () => {
    expect(
      [...mountPoints().values()]
        .flat()
        .map(({ prefix }) => prefix)
        .sort(),
    ).toEqual(routeTable.map(({ prefix }) => prefix).sort());
  });
});
