// Guarantees of freePort: no two processes get the same port, even before one listens on it.
import { expect, test } from "@jest/globals";
import { startChild } from "../test/child.ts";
import { freePort } from "./free-port.ts";

test("another process that begins to look at the same port is given another one", async () => {
  const ours = await freePort();
  const child = await startChild(`console.log(await embedded.freePort(${ours}));`);
  expect(Number(child.output)).toBeGreaterThan(0);
  expect(Number(child.output)).not.toBe(ours);
  await child.kill();
});

test("one process is never given a port twice", async () => {
  const first = await freePort();
  expect(await freePort(first)).not.toBe(first);
});
