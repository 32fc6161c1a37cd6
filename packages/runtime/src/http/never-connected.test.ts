// Guarantee of repeats: a request that was never sent may be sent again, even if this process had no descriptor for it.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { neverConnected } from "./forward-request.ts";

const UNDICI = import.meta.resolve("undici");

/** Opens files until there are no descriptors, then sends a request; prints the code of its error. */
const SCRIPT = `
import { closeSync, openSync } from "node:fs";
import { request } from ${JSON.stringify(UNDICI)};
const one = () => { try { return openSync("/dev/null"); } catch { return undefined; } };
const open = [];
for (let file = one(); file !== undefined; file = one()) open.push(file);
const { code } = await request("http://127.0.0.1:9", { method: "POST" }).catch((error) => error);
for (const file of open) closeSync(file);
console.log(code);
`;

test("a request for which there is no descriptor was not sent", async () => {
  const node = [process.execPath, "--input-type=module", "--eval", SCRIPT];
  const limited = ["-c", 'ulimit -n 64; exec "$@"', "sh", ...node];
  const { stdout } = await promisify(execFile)("sh", limited);
  expect(stdout.trim()).toBe("EMFILE");
  expect(neverConnected({ code: stdout.trim() })).toBe(true);
});

test("nothing is known of any other error", () => {
  for (const error of [undefined, null, new Error("lost"), { code: "ECONNRESET" }, { code: "EPIPE" }]) {
    expect(neverConnected(error)).toBe(false);
  }
});
