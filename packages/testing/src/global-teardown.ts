// After all tests: stops what global-setup.ts started and removes its data.
import { rm } from "node:fs/promises";
import { infrastructure } from "./infrastructure.ts";

export default async function tearDown(): Promise<void> {
  for (const server of infrastructure.servers.splice(0)) await server.stop();
  if (infrastructure.dataDir !== undefined)
    await rm(infrastructure.dataDir, { recursive: true, force: true });
}
