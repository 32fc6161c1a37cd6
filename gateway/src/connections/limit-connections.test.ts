// Which connections count together; how many there may be is open-connections.test.ts of the runtime.
import { expect, test } from "@jest/globals";
import { connectionOwner, isPublicAddress } from "./limit-connections.ts";

test.each([
  ["8.8.8.8", true],
  ["2001:4860:4860::8888", true],
  ["::ffff:8.8.8.8", true],
  ["127.0.0.1", false],
  ["::ffff:127.0.0.1", false],
  ["::1", false],
  ["10.1.2.3", false],
  ["::ffff:192.168.0.7", false],
  ["100.64.0.1", false],
  ["fd00::1", false],
  ["fe80::1", false],
])("%s is public: %s", (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});

test("connections of one public network have one owner, those that a proxy may make have none", () => {
  expect(connectionOwner("8.8.8.8")).toBe(connectionOwner("::ffff:8.8.8.8"));
  expect(connectionOwner("8.8.8.8")).not.toBe(connectionOwner("8.8.4.4"));
  expect(connectionOwner("2001:db8:1:2::1")).toBe(connectionOwner("2001:db8:1:2::2"));
  for (const address of ["10.1.2.3", "::1", ""]) expect(connectionOwner(address)).toBeUndefined();
});
