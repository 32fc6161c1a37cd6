// Guarantee of connection limits: connections never use the last descriptors.
import { expect, test } from "@jest/globals";
import { mostConnections, readLimits } from "./most-connections.ts";

const limits = (soft: string) => `Limit                     Soft Limit           Hard Limit           Units
Max processes             92000                92000                processes
Max open files            ${soft.padEnd(20)} 1048576              files
`;

test.each([
  ["20000", 9_500],
  ["1048576", 20_000],
  ["1024", 384],
  ["unlimited", 20_000],
])("of %s descriptors, connections get a part", (descriptors, connections) => {
  expect(mostConnections(limits(descriptors))).toBe(connections);
});

test("the limits of this process are understood, or there are none to read", () => {
  expect(mostConnections(readLimits())).toBeGreaterThan(0);
  expect(mostConnections(undefined)).toBe(20_000);
});
