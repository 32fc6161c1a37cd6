// Large bodies: without credit, a client's body is not read, as JSON or as a form.
import { type RunningSimulator, startSimulator } from "@gr/simulator";
import { RawUpload, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { caller } from "./test/edge.ts";
import { type MediaUnderTest, startMedia } from "./test/start-media.ts";

const MIB = 1024 * 1024;
const FORM = { "content-type": "multipart/form-data; boundary=x" };

let simulator: RunningSimulator;
let media: MediaUnderTest;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0 });
  media = await startMedia({ upstreamUrl: simulator.url });
});
afterAll(async () => {
  await media?.stop();
  await simulator?.close();
});

test.each([
  ["/v1/compat/images/generations", {}],
  ["/v1/compat/images/edits", FORM],
  ["/v1/compat/videos/generations", {}],
  ["/v1/compat/videos/generations", FORM],
])("a key that may spend nothing is refused before a byte of 50 MB is read: %s %j", async (path, headers) => {
  media.billing.cap(caller.accountId, caller.keyId, 0n);
  const upload = new RawUpload(media.url(), { path, headers, announced: 50 * MIB });
  const refusal = { status: 402, body: { error: { code: "spend_limit_exceeded" } } };
  expect(await upload.answer()).toMatchObject(refusal);
  upload.leave();
});

test("a form without a length is refused to such a key when 1 MiB of it has come", async () => {
  media.billing.cap(caller.accountId, caller.keyId, 0n);
  const upload = new RawUpload(media.url(), { path: "/v1/compat/images/edits", headers: FORM });
  await upload.send(
    `--x\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\n${"a".repeat(MIB)}`,
  );
  expect((await upload.answer()).status).toBe(402);
  upload.leave();
});

test.each([
  ["JSON", {}],
  ["forms", FORM],
])(
  "uploads of one account that never end hold its share of the room, until they leave: %s",
  async (_, headers) => {
    media.billing.cap(caller.accountId, caller.keyId, 1_000_000n);
    await media.restart({ env: { MEDIA_MAX_INPUT_BYTES: String(4 * MIB) } });
    const start =
      headers === FORM ? '--x\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n' : '{"prompt":"';
    const begin = async () => {
      const path = "/v1/compat/images/generations";
      const upload = new RawUpload(media.url(), { path, headers, announced: MIB });
      await upload.send(start + "a".repeat(MIB - 1_000));
      return upload;
    };
    const refusals: number[] = [];
    const uploads = await Promise.all(Array.from({ length: 12 }, begin));
    for (const each of uploads) {
      each.answer().then(
        ({ status }) => refusals.push(status),
        () => undefined,
      );
    }
    await until(async () => refusals.length >= 9, { timeoutMs: 60_000 });
    expect(new Set(refusals)).toEqual(new Set([429]));
    for (const each of uploads) each.leave();
    await until(async () => (await media.generate(`{"prompt":"${"a".repeat(MIB)}"}`)).status === 400, {
      timeoutMs: 60_000,
    });
    await media.restart();
  },
);
