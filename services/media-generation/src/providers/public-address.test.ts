// Addresses in an answer or from a client: in any spelling, only the public internet is reached, and no other host
// receives a request.
import { type AddressInfo, createServer, type Server } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { type ScriptedServer, startScriptedServer } from "../test/scripted-server.ts";
import { createOutbound, type Outbound } from "./outbound.ts";
import { isPublicAddress, refusalOf } from "./public-address.ts";

/** Spellings of addresses that are not on the public internet, or not allowed for us. */
const REFUSED = [
  "http://127.0.0.1/",
  "http://127.1/",
  "http://2130706433/",
  "http://0x7f000001/",
  "http://0177.0.0.1/",
  "http://0x7f.1/",
  "http://①②⑦.0.0.1/",
  "http://127。0。0。1/",
  "http://%31%32%37.0.0.1/",
  "http://0/",
  "http://[::1]/",
  "http://[::ffff:127.0.0.1]/",
  "http://[::ffff:7f00:1]/",
  "http://[0:0:0:0:0:ffff:127.0.0.1]/",
  "http://[::127.0.0.1]/",
  "http://[64:ff9b::127.0.0.1]/",
  "http://[2002:7f00:1::]/",
  "http://[fe80::1]/",
  "http://169.254.169.254/latest/meta-data/",
  "http://100.100.100.200/",
  "http://168.63.129.16/",
  "http://10.0.0.1/",
  "http://192.168.0.1/",
  "https://172.20.0.1/",
  "http://example.com:8080/",
  "http://example.com:22/",
  "https://user@example.com/",
  "https://:p@example.com/",
  "ftp://example.com/",
  "file:///etc/passwd",
  "gopher://example.com/",
  "data:text/plain,x",
  "javascript:1",
] as const;

describe("an address", () => {
  test.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.7",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::7f00:1",
    "4000::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "not an address",
    "",
  ])("%s is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"])(
    "%s is public",
    (address) => {
      expect(isPublicAddress(address)).toBe(true);
    },
  );
});

describe("a URL", () => {
  test.each(REFUSED)("%s is refused before anything is resolved", (url) => {
    expect(refusalOf(new URL(url))).toBeDefined();
  });

  test.each([
    "http://example.com/a.png",
    "https://example.com:443/a",
    "http://example.com:80/",
    "https://1.1.1.1/x",
  ])("%s is not", (url) => {
    expect(refusalOf(new URL(url))).toBeUndefined();
  });
});

describe("a download", () => {
  let provider: ScriptedServer;
  let internal: ScriptedServer;
  let outbound: Outbound;
  const names: Record<string, string[]> = {
    "inside.test": ["127.0.0.1"],
    "mixed.test": ["93.184.216.34", "127.0.0.1"],
    "metadata.test": ["169.254.169.254"],
    "v6.test": ["::1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nothing.test": [],
  };

  beforeEach(async () => {
    provider = await startScriptedServer();
    internal = await startScriptedServer();
    outbound = createOutbound({
      trustedOrigins: new Set([provider.url]),
      resolveAll: async (name) =>
        (names[name] ?? []).map((address) => ({ address, family: address.includes(":") ? 6 : 4 })),
    });
  });
  afterEach(async () => {
    await outbound.close();
    await provider.close();
    await internal.close();
  });

  const download = (url: string, maxBytes = 1_000) =>
    outbound.download({ url, maxBytes, signal: AbortSignal.timeout(20_000) });
  const refused = { name: "OutboundError", kind: "refused" };

  test.each(Object.keys(names))("from %s is refused for what the name resolves to", async (name) => {
    await expect(download(`http://${name}/a.png`)).rejects.toMatchObject(refused);
  });

  test.each(["", "a.png", "//", "http://"])("from %j, which is no URL, is refused", async (url) => {
    await expect(download(url)).rejects.toMatchObject(refused);
  });

  test("from a configured host is made wherever that is, counted", async () => {
    provider.play({ status: 200, body: Buffer.from("picture") });
    expect(String(await download(`${provider.url}/a.png`))).toBe("picture");
    await expect(download(`${provider.url}/a.png`, 6)).rejects.toMatchObject({ kind: "unreadable" });
    expect(provider.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  test("from anything of that is refused, and no listener of this machine has even a connection", async () => {
    let connections = 0;
    const count = () => {
      connections += 1;
    };
    const listeners = await Promise.all(["127.0.0.1", "::1"].map((host) => listenOn(host, count)));
    const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
    for (const port of ports) {
      for (const url of [...REFUSED, ...Object.keys(names).map((name) => `http://${name}/`)]) {
        const aimed = url.replace(/^(https?:\/\/(?:[^/@]*@)?(?:\[[^\]]*\]|[^/:]*))(?::\d+)?/, `$1:${port}`);
        await expect(download(url)).rejects.toMatchObject(refused);
        await expect(download(aimed)).rejects.toMatchObject(refused);
        provider.play({ status: 302, headers: { location: Buffer.from(aimed).toString("latin1") } });
        // An address that is invalid in a header must at least fail.
        await expect(download(`${provider.url}/a.png`)).rejects.toMatchObject({ name: "OutboundError" });
      }
    }
    expect(connections).toBe(0);
    expect(provider.requests.length).toBeGreaterThan(REFUSED.length);
    for (const listener of listeners) await new Promise((resolve) => listener.close(resolve));
  });

  test("that a configured host leads elsewhere is checked anew: nothing internal is asked", async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      provider.play({ status, headers: { location: `${internal.url}/secret` } });
      await expect(download(`${provider.url}/a.png`)).rejects.toMatchObject(refused);
    }
    provider.play({ status: 302, headers: { location: "http://inside.test/" } });
    await expect(download(`${provider.url}/a.png`)).rejects.toMatchObject(refused);
    expect(internal.requests).toEqual([]);
  });

  test("is led on three times and not more", async () => {
    const on = { status: 302, headers: { location: "/next" } };
    provider.play(on, on, on, { status: 200, body: Buffer.from("there") });
    expect(String(await download(`${provider.url}/a.png`))).toBe("there");
    provider.play(on);
    await expect(download(`${provider.url}/a.png`)).rejects.toMatchObject(refused);
    expect(provider.requests).toHaveLength(8);
  });

  test("of what is not there yet may be tried again", async () => {
    provider.play({ status: 404 });
    await expect(download(`${provider.url}/a.png`)).rejects.toMatchObject({ kind: "lost" });
  });
});

async function listenOn(host: string, connected: () => void): Promise<Server> {
  const server = createServer((socket) => {
    connected();
    socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, resolve);
  });
  return server;
}
