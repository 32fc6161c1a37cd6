// The bootstrap does not trust a registry: it runs a program only if its archive has the digest in this repository.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";

const run = promisify(execFile);
const VERSION = "26.10.0";
/** Program that installs Node like the bootstrap, and prints the result. */
const INSTALL = `
  import { withInstallLock } from "./bootstrap/install-lock.mjs";
  import { describeFailure } from "./bootstrap/bootstrap-error.mjs";
  import { installNode } from "./bootstrap/toolchain.mjs";
  console.log(await withInstallLock(installNode).then(() => "installed", describeFailure));`;

let clone: string;
let registry: Server;
let archive: Buffer;
let asked: string[];

/** Starts a registry with a false Node: the digest of the registry fits its archive, but the program is not Node. */
beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), "toolchain-"));
  await cp(fileURLToPath(new URL(".", import.meta.url)), join(clone, "scripts", "bootstrap"), {
    recursive: true,
  });
  await writeFile(join(clone, "scripts", "install.mjs"), INSTALL);
  archive = await archiveOf(`#!/bin/sh\necho v${VERSION}\n`);
  asked = [];
  registry = createServer(({ url = "", headers }, response) => {
    asked.push(url);
    if (url.endsWith(".tgz")) return response.end(archive);
    const name = decodeURIComponent(url.slice(1));
    const dist = { tarball: `http://${headers.host}/node.tgz`, integrity: digestOf(archive) };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, versions: { [VERSION]: { name, version: VERSION, dist } } }));
  });
  await once(registry.listen(0, "127.0.0.1"), "listening");
});
afterEach(async () => {
  registry.close();
  await rm(clone, { recursive: true });
});

test("a Node with another digest is refused, and no file of it stays", async () => {
  expect(await install()).toMatch(/^could not install node-.*integrity/i);
  expect(asked.length).toBeGreaterThan(0);
  expect(await readdir(join(clone, ".tools"))).toEqual([]);
});

test("a Node with our digest is installed from the same registry", async () => {
  const digests = join(clone, "scripts", "bootstrap", "digests.mjs");
  const text = await readFile(digests, "utf8");
  await writeFile(digests, text.replaceAll(/"sha512-[^"]+"/g, JSON.stringify(digestOf(archive))));
  expect(await install()).toBe("installed");
  expect(await readdir(join(clone, ".tools"))).toEqual([expect.stringContaining(`node-${VERSION}`)]);
});

async function install(): Promise<string> {
  const { port } = registry.address() as AddressInfo;
  const env = {
    ...process.env,
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: join(clone, "cache"),
    npm_config_userconfig: join(clone, "npmrc"),
    npm_config_noproxy: "127.0.0.1",
  };
  const { stdout } = await run(process.execPath, [join(clone, "scripts", "install.mjs")], { env });
  return stdout.trim();
}

async function archiveOf(program: string): Promise<Buffer> {
  const bin = join(clone, "package", "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(clone, "package", "package.json"), JSON.stringify({ name: "node", version: VERSION }));
  await writeFile(join(bin, "node"), program);
  await chmod(join(bin, "node"), 0o755);
  await run("tar", ["-czf", join(clone, "node.tgz"), "-C", clone, "package"]);
  return readFile(join(clone, "node.tgz"));
}

function digestOf(bytes: Buffer): string {
  return `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
}
