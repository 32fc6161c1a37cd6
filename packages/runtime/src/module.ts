// Module is the interface of a part of the product. A process is a list of modules, and no module depends on the list:
// it dials others by name, and the runner decides between a function call and the network.
import type { DescService } from "@bufbuild/protobuf";
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import type { z } from "zod";
import type { Schema } from "./database/migration-files.ts";
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
  /** Bytes of memory for the module's buffers: its share of the process, by `memoryWeight`; 0 without one. */
  readonly memoryBytes: number;
  /** For a public HTTP app; undefined without tracing. */
  readonly tracing: Tracing | undefined;
  /** Returns a client of another module's RPC service. Errors arrive as the ServiceError that was thrown there. */
  dial<Desc extends DescService>(module: string, service: Desc): ServiceClient<Desc>;
  /** Serves another module's REST routes under these prefixes of a public HTTP app. */
  mount(app: FastifyInstance, module: string, points: readonly MountPoint[]): Promise<void>;
  /** Returns OpenAPI path items of another module's REST routes. */
  describeRest(module: string): Promise<Record<string, object>>;
}

export interface ModuleInstance {
  readonly rpc?: readonly RpcService[];
  readonly rest?: RestApi;
  /** Begins background work; called once all modules of the process exist and their ports listen. */
  start?(): Promise<void>;
  /** Returns the reason while the module cannot serve, else true. Called by /readyz and grpc.health.v1. */
  ready?(): Promise<true | string>;
  /** Returns the module's public address, if it has one; available after the start. */
  publicUrl?(): string;
  /**
   * Announces to all connected clients that their connections close, and still answers. Called first when the process
   * stops, once it is no longer ready.
   */
  drain?(): Promise<void>;
  /**
   * Aborts running requests and sends their clients a final error. Called while the process stops, STOP_GRACE_MS after
   * the request to stop; their connections are cut LAST_WORDS_MS later.
   */
  cancel?(): void;
  /** Refuses new work, finishes running work, closes. Called in reverse order of start. */
  stop?(): Promise<void>;
}

export interface Module<Shape extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  /** Modules that it dials or mounts; those in the same process are created and started before it. */
  readonly needs: readonly string[];
  readonly config: Shape;
  /** Share of the process's memory that the module buffers input in, relative to other modules; none when absent. */
  readonly memoryWeight?: number;
  /** Tables of the module; up to date before its creation. Its config contains `postgresConfig`. */
  readonly schema?: Schema;
  create(context: ModuleContext<z.infer<Shape>>): Promise<ModuleInstance>;
}

/** Types `create` with the module's own config; in a list, modules have different types. */
export function defineModule<Shape extends z.ZodObject>(module: Module<Shape>): Module {
  return module as unknown as Module;
}
