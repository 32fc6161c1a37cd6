// Which addresses are counted as one client.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { clientNetwork, widerNetwork } from "./client-address.ts";

test.each([
  ["203.0.113.7", "203.0.113.7"],
  ["::ffff:203.0.113.7", "203.0.113.7"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::", "2001:db8:1:2::/64"],
  ["2001:db8:0:2:0:4:5:6", "2001:db8:0:2::/64"],
  ["1::3:4:5:6:7:8", "1:0:3:4::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["2001:0DB8::1", "2001:db8:0:0::/64"],
  [undefined, "unknown"],
  ["not an address", "unknown"],
])("%s is counted as %s", (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});

test.each([
  ["203.0.113.7", 24, "203.0.113.0/24"],
  ["::ffff:203.0.113.7", 24, "203.0.113.0/24"],
  ["203.0.113.200", 25, "203.0.113.128/25"],
  ["203.0.113.7", 32, "203.0.113.7"],
  ["2001:db8:1:2::3", 24, "2001:db8:1::/48"],
  [undefined, 24, "unknown"],
])("%s lies in a network of prefix %i: %s", (address, ipv4Prefix, network) => {
  expect(widerNetwork(address, ipv4Prefix)).toBe(network);
});

test("two IPv6 addresses are one client exactly when their first 64 bits are the same", () => {
  const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 4, maxLength: 4 });
  const text = (network: readonly number[], host: readonly number[]) =>
    new URL(`http://[${[...network, ...host].map((group) => group.toString(16)).join(":")}]/`).hostname.slice(
      1,
      -1,
    );
  fc.assert(
    fc.property(groups, groups, groups, groups, (network, other, host, another) => {
      fc.pre(text(network, host) !== "::" && network.some((group) => group > 0));
      expect(clientNetwork(text(network, host))).toBe(clientNetwork(text(network, another)));
      const same = network.every((group, index) => group === other[index]);
      expect(clientNetwork(text(network, host)) === clientNetwork(text(other, host))).toBe(same);
    }),
  );
});
