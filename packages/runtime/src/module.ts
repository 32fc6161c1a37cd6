// What a module is. A process is a list of modules; no module knows which others share its process:
// it dials them by name, and the runner decides whether that is a function call or the network.
import type { DescService } from "@bufbuild/protobuf";
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import type { z } from "zod";
import type { Schema } from "./database/sql-files.ts";
import type { MountPoint } from "./http/forward-request.ts";
import type { RestApi } from "./http/rest-api.ts";
import type { Timer } from "./process/clock.ts";
import type { Logger } from "./process/logger.ts";
import type { RpcService } from "./rpc/rpc-service.ts";
import type { ServiceClient } from "./rpc/service-client.ts";
import type { Tracing } from "./telemetry/tracing.ts";

export interface ModuleContext<Config> {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Timer;
  readonly metrics: Registry;
  /** Bytes of memory for what the module buffers: its share of the process, by `memoryWeight`; 0 without one. */
  readonly memoryBytes: number;
  /** For a public HTTP app; undefined where nothing is traced. */
  readonly tracing: Tracing | undefined;
  /** A client of another module's RPC service. Errors arrive as the ServiceError that was thrown there. */
  dial<Desc extends DescService>(module: string, service: Desc): ServiceClient<Desc>;
  /** Serves another module's REST routes under these prefixes of a public HTTP app. */
  mount(app: FastifyInstance, module: string, points: readonly MountPoint[]): Promise<void>;
  /** OpenAPI path items of another module's REST routes. */
  describeRest(module: string): Promise<Record<string, object>>;
}

export interface ModuleInstance {
  readonly rpc?: readonly RpcService[];
  readonly rest?: RestApi;
  /** Begins background work; called when all modules of the process exist and their ports listen. */
  start?(): Promise<void>;
  /** False while the module cannot serve, with the reason. Asked by /readyz and grpc.health.v1. */
  ready?(): Promise<true | string>;
  /** Where the module listens for the public, if it does; known once it has started. */
  publicUrl?(): string;
  /**
   * Goes on answering while it tells everybody who is connected to go elsewhere. Called first of all when the process
   * stops; it is not ready any more.
   */
  drain?(): Promise<void>;
  /**
   * Ends what still runs and says so to whoever waits for it. Called while the process stops, when running requests have had
   * STOP_GRACE_MS; their connections are cut LAST_WORDS_MS later.
   */
  giveUp?(): void;
  /** Stops accepting, finishes what runs, closes. Called in reverse order of start. */
  stop?(): Promise<void>;
}

export interface Module<Shape extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** Modules it dials or mounts; those in the same process are created and started before it. */
  readonly needs: readonly string[];
  readonly config: Shape;
  /** Share of the process's memory that the module buffers input in, relative to other modules; none when absent. */
  readonly memoryWeight?: number;
  /** Its tables, if it keeps any; up to date before it is created. Its config has what `postgresConfig` has. */
  readonly schema?: Schema;
  create(context: ModuleContext<z.infer<Shape>>): Promise<ModuleInstance>;
}

/** Gives `create` the type of its own config; in a list, modules are of different shapes. */
export function defineModule<Shape extends z.ZodObject>(module: Module<Shape>): Module {
  return module as unknown as Module;
}
