// Runs the simulator alone: settings from the environment, an orderly stop on SIGTERM and SIGINT.
import { parseConfig, type SimulatorConfig } from "./config.ts";
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
    throw new Error(sentenceFor(error as NodeJS.ErrnoException, config), { cause: error });
  }
}

/** Names the setting that has to change. */
function sentenceFor(
  error: NodeJS.ErrnoException,
  { HOST, SIMULATOR_PORT, DATA_DIR }: SimulatorConfig,
): string {
  if (error.code === "EADDRINUSE") {
    return `Port ${SIMULATOR_PORT} on ${HOST} is taken: stop what listens there, or set SIMULATOR_PORT.`;
  }
  if (error.syscall === "listen" || error.syscall === "getaddrinfo") {
    return `Cannot listen on ${HOST}:${SIMULATOR_PORT} (${error.code}): set HOST to an address of this machine.`;
  }
  if (error.syscall === undefined) return error.message;
  return `DATA_DIR ${DATA_DIR} cannot be used: ${error.message}.`;
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
