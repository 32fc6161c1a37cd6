// Runs the simulator alone: settings from the environment, an orderly stop on SIGTERM and SIGINT.
import { parseConfig } from "./config.ts";
import { type RunningSimulator, startSimulator } from "./server.ts";

async function start(): Promise<RunningSimulator> {
  const config = parseConfig(process.env);
  try {
    return await startSimulator({
      host: config.HOST,
      port: config.SIMULATOR_PORT,
      dataDir: config.DATA_DIR,
      tokenDelayMs: config.SIMULATOR_TOKEN_DELAY_MS,
    });
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EADDRINUSE") throw error;
    throw new Error(
      `Port ${config.SIMULATOR_PORT} on ${config.HOST} is taken: stop what listens there, or set SIMULATOR_PORT.`,
      { cause: error },
    );
  }
}

try {
  const simulator = await start();
  console.log(`The simulator serves at ${simulator.url}; its bill is at ${simulator.url}/bill`);
  const stop = () => {
    simulator.close().catch((error: unknown) => {
      console.error("The simulator did not stop cleanly:", error);
      process.exitCode = 1;
    });
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
