// The official client for Python creates videos as jobs, unchanged.
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, test } from "@jest/globals";
import { type Router, startRouter } from "../e2e/topology.ts";
import { clientPython, INSTALL_MS } from "./python-environment.ts";
import { expectVideos } from "./videos.ts";

let router: Router;
let python: string;
beforeAll(async () => {
  python = await clientPython();
  router = await startRouter("all-in-one", { sharedPostgres: true });
}, INSTALL_MS);
afterAll(async () => {
  await router?.dispose();
});

test("openai creates, follows, downloads, lists and deletes a video, and its account is charged once", async () => {
  const script = fileURLToPath(new URL("./python/openai_videos.py", import.meta.url));
  await expectVideos(router, [python, "-B", script]);
});
