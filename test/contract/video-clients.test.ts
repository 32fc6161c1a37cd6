// The official client for Node creates videos as jobs, unchanged.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { expectVideos } from "./videos.ts";

let router: Router;
beforeAll(async () => {
  router = await startRouter("all-in-one", { inProcess: true });
});
afterAll(async () => {
  await router?.dispose();
});

test("openai creates, follows, downloads, lists and deletes a video, and its account is charged once", async () => {
  const script = fileURLToPath(new URL("./node/openai-videos.ts", import.meta.url));
  await expectVideos(router, [process.execPath, script]);
});
