// Guarantees of access by kind of key: management keys and normal keys never replace each other.
import { describe, expect, test } from "@jest/globals";
import { managementKey, normalKey } from "./key-refusals.ts";
import type { Principal } from "./principal.ts";

const callerOf = (kind: Principal["kind"]): Principal => ({ accountId: "a", keyId: "k", kind });
const normal = callerOf("normal");
const webToken = callerOf("web_token");
const management = callerOf("management");

describe("a route for normal keys", () => {
  test("admits a normal key and a web token", () => {
    expect([normalKey(normal), normalKey(webToken)]).toEqual([normal, webToken]);
  });

  test("refuses a management key and a request without a key", () => {
    expect(() => normalKey(management)).toThrow(expect.objectContaining({ reason: "wrong_key_kind" }));
    expect(() => normalKey(null)).toThrow(expect.objectContaining({ reason: "invalid_api_key" }));
  });
});

describe("a route for management keys", () => {
  test("admits a management key", () => {
    expect(managementKey(management)).toBe(management);
  });

  test("names the kind of the refused key", () => {
    expect(() => managementKey(normal)).toThrow(/this is a normal API key/);
    expect(() => managementKey(webToken)).toThrow(/this is a web token/);
    expect(() => managementKey(null)).toThrow(expect.objectContaining({ reason: "invalid_api_key" }));
  });
});
