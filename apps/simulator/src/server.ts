// Assembles the simulator: its bill, its wire formats, its listener, and an orderly stop.
import fastify, { type FastifyInstance } from "fastify";
import { Bill } from "./bill/bill.ts";
import { billRoutes } from "./bill/bill-routes.ts";
import { Statements } from "./bill/statement.ts";
import { MediaRoom } from "./media/media-room.ts";
import { resultFileRoutes } from "./media/result-files.ts";
import { bflRoutes } from "./providers/bfl/routes.ts";
import { bytePlusRoutes } from "./providers/byteplus/routes.ts";
import { falRoutes } from "./providers/fal/routes.ts";
import { geminiRoutes } from "./providers/gemini/routes.ts";
import { localRoutes } from "./providers/local/routes.ts";
import { openAiRoutes } from "./providers/openai/routes.ts";
import { openRouterRoutes } from "./providers/openrouter/routes.ts";
import { replicateRoutes } from "./providers/replicate/routes.ts";
import { runwareRoutes } from "./providers/runware/routes.ts";
import { togetherImageRoutes, togetherVideoRoutes } from "./providers/together/routes.ts";
import { vercelRoutes } from "./providers/vercel/routes.ts";
import { xaiRoutes } from "./providers/xai/routes.ts";
import { Simulation } from "./request/simulation.ts";
import { UpstreamFaults } from "./request/upstream-faults.ts";

export interface SimulatorOptions {
  readonly host: string;
  /** 0 chooses any free port. */
  readonly port: number;
  /** Folder of the bill; without it the bill is in memory only. */
  readonly dataDir?: string | undefined;
  /** Milliseconds between two tokens of a stream; 0 by default. */
  readonly tokenDelayMs?: number | undefined;
  /** Milliseconds before an image is drawn; 0 by default. */
  readonly imageDelayMs?: number | undefined;
  /** False for tests that need only the bill: results are a few bytes, and no pictures. True by default. */
  readonly drawing?: boolean | undefined;
}

export interface RunningSimulator {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string;
  /**
   * Stops listening, lets running answers end within a time limit, aborts the others
   * (they are billed), closes the bill.
   */
  close(): Promise<void>;
}

const BODY_LIMIT = 50 * 1024 * 1024;
const GRACE_MS = 2_000;
const IDLE_SWEEP_MS = 50;

/** Starts a simulator. Rejects for a port in use or a damaged bill. */
export async function startSimulator(options: SimulatorOptions): Promise<RunningSimulator> {
  const bill = await Bill.open(options.dataDir);
  const simulation = new Simulation(bill, options.tokenDelayMs ?? 0, options.imageDelayMs ?? 0);
  const app = buildApp(simulation, options.drawing ?? true);
  try {
    const url = await app.listen({ host: options.host, port: options.port });
    return { url, close: closeOnce(app, simulation) };
  } catch (error) {
    bill.close();
    throw error;
  }
}

function buildApp(simulation: Simulation, drawing: boolean): FastifyInstance {
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    exposeHeadRoutes: false,
    // Request bodies are only read, so a key like __proto__ is harmless and need not be searched for.
    onProtoPoisoning: "ignore",
    onConstructorPoisoning: "ignore",
    routerOptions: { maxParamLength: 1_000 },
  });
  app.get("/livez", (_request, reply) => reply.send({ status: "ok" }));
  app.register(billRoutes(simulation.bill));
  const media = new MediaRoom(simulation, drawing);
  app.register(resultFileRoutes(media.files));
  const statements = new Statements(simulation.bill);
  app.register(statements.routes);
  const faults = new UpstreamFaults(simulation);
  app.register(faults.routes);
  app.register(faults.over("openrouter", openRouterRoutes(simulation, media, statements.of("openrouter"))), {
    prefix: "/openrouter/api/v1",
  });
  app.register(faults.over("openai", openAiRoutes(simulation, media, statements.of("openai"))), {
    prefix: "/openai/v1",
  });
  app.register(faults.over("local", localRoutes(simulation)), { prefix: "/local/v1" });
  app.register(vercelRoutes(simulation), { prefix: "/vercel/v1" });
  app.register(geminiRoutes(media), { prefix: "/gemini/v1beta" });
  app.register(xaiRoutes(media), { prefix: "/xai/v1" });
  app.register(togetherImageRoutes(media), { prefix: "/together/v1" });
  app.register(togetherVideoRoutes(media), { prefix: "/together/v2" });
  app.register(bytePlusRoutes(media), { prefix: "/byteplus/api/v3" });
  app.register(bflRoutes(media), { prefix: "/bfl/v1" });
  app.register(falRoutes(media), { prefix: "/fal" });
  app.register(replicateRoutes(media), { prefix: "/replicate/v1" });
  app.register(runwareRoutes(media), { prefix: "/runware/v1" });
  return app;
}

function closeOnce(app: FastifyInstance, simulation: Simulation): () => Promise<void> {
  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    simulation.stop();
    // Connections of streams that end during the stop would otherwise stay open, idle.
    const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS);
    const deadline = setTimeout(() => app.server.closeAllConnections(), GRACE_MS);
    try {
      await app.close();
    } finally {
      clearInterval(sweep);
      clearTimeout(deadline);
    }
    await simulation.settled();
    simulation.bill.close();
  }
  return () => {
    closed ??= close();
    return closed;
  };
}
