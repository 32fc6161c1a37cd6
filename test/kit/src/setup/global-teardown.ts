// After all tests: stops the servers of global-setup.ts.
import { infrastructure } from "./infrastructure.ts";

export default async function tearDown(): Promise<void> {
  await Promise.all(infrastructure.servers.splice(0).map((server) => server.stop()));
}
