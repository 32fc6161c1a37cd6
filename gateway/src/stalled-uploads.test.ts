// Guarantee of stalled uploads: the gateway cuts them, for modules in every process.
import { RawUpload } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { startRing, topologies } from "./test/ring.ts";

test.each(topologies)(
  "an upload that stands still is answered 408 and its connection closed, %s",
  async (topology) => {
    const ring = await startRing(topology, { UPLOAD_STALL_MS: "200" });
    const authorization = `Bearer ${ring.keys.add("normal").secret}`;
    for (const announced of [1_000, 1_000_000]) {
      const path = "/v1/compat/images/generations";
      const upload = new RawUpload(ring.baseUrl, { path, headers: { authorization }, announced });
      await upload.send("[");
      expect(await upload.answer()).toMatchObject({
        status: 408,
        body: { error: { code: "request_timeout" } },
      });
      await upload.closed();
    }
    await ring.stop();
  },
);
