// The official client for Node makes videos as jobs, unchanged.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectVideos } from "./videos.ts";

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { sharedPostgres: true });
});
afterAll(async () => {
  await router?.dispose();
});

test("the sample of the guide runs as it is written", async () => {
  const guide = await readFile(new URL("../../docs/api-videos.md", import.meta.url), "utf8");
  const [, sample = ""] = /```ts\n(.*?)```/s.exec(guide) ?? [];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--input-type=module-typescript", "--eval", sample],
    {
      cwd: fileURLToPath(new URL("../..", import.meta.url)),
      env: { PATH: process.env["PATH"] ?? "", BASE_URL: router.baseUrl, API_KEY: router.apiKey },
    },
  );
  expect(stdout).toMatch(/^\d{3,} bytes\n$/);
});

test("openai creates, follows, downloads, lists and deletes a video, and its account is charged once", async () => {
  const script = fileURLToPath(new URL("./node/openai-videos.ts", import.meta.url));
  await expectVideos(router, [process.execPath, script]);
});
