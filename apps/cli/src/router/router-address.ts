// The router address is the RPC address of the running router, and the secret for it: from the file in the router's
// data directory, or from the environment for a deployment.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { addressVariables, dataDirConfig, type Environment, OperatorError, readConfig } from "@gr/runtime";
import { z } from "zod";

export const SERVICES = ["keys", "billing", "catalog"] as const;
/** Services that only some commands need. */
const FURTHER = ["console", "media-generation", "text-proxy"] as const;
export type CoreService = (typeof SERVICES)[number];
export type ServiceName = CoreService | (typeof FURTHER)[number];

export interface RouterAddress {
  /** Absent: the environment does not name this service. */
  readonly rpcUrls: Readonly<Partial<Record<ServiceName, string | undefined>>>;
  readonly secret: string;
  /** For messages: the file, or "the environment". */
  readonly source: string;
}

const runtimeFile = z.object({
  rpc_urls: z.object({
    keys: z.url(),
    billing: z.url(),
    catalog: z.url(),
    console: z.url().optional(),
    "media-generation": z.url().optional(),
    "text-proxy": z.url().optional(),
  }),
  internal_auth_secret: z.string().min(1),
});

const environment = z.object({
  INTERNAL_AUTH_SECRET: z.string().min(32, "must have at least 32 characters").optional(),
  [addressVariables("keys").rpc]: z.url().optional(),
  [addressVariables("billing").rpc]: z.url().optional(),
  [addressVariables("catalog").rpc]: z.url().optional(),
  [addressVariables("console").rpc]: z.url().optional(),
  [addressVariables("media-generation").rpc]: z.url().optional(),
  [addressVariables("text-proxy").rpc]: z.url().optional(),
});

/**
 * Finds the router: in an explicit data directory first; then by RPC addresses of the environment; then in the default
 * data directory.
 * @throws OperatorError if no router is found.
 */
export async function findRouter(dataDir: string | undefined, env: Environment): Promise<RouterAddress> {
  if (dataDir !== undefined) return fromFile(dataDir);
  return fromEnvironment(env) ?? fromFile(read(dataDirConfig, env).DATA_DIR);
}

function fromEnvironment(env: Environment): RouterAddress | undefined {
  const config = read(environment, env);
  const urls = [...SERVICES, ...FURTHER].flatMap((name) => {
    const url = config[addressVariables(name).rpc];
    return url === undefined ? [] : [[name, url] as const];
  });
  if (urls.length === 0) return undefined;
  if (config.INTERNAL_AUTH_SECRET === undefined) {
    throw new OperatorError("INTERNAL_AUTH_SECRET must be set too when the environment names RPC addresses.");
  }
  return {
    rpcUrls: Object.fromEntries(urls),
    secret: config.INTERNAL_AUTH_SECRET,
    source: "the environment",
  };
}

async function fromFile(dataDir: string): Promise<RouterAddress> {
  const source = join(dataDir, "runtime.json");
  let text: string;
  try {
    text = await readFile(source, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new OperatorError(`Cannot read ${source}: ${message}.`);
    throw new OperatorError(
      `No router has run on ${dataDir} (there is no ${source}); start one, or name its folder with --data-dir.`,
    );
  }
  const parsed = runtimeFile.safeParse(jsonOf(text));
  if (!parsed.success) throw new OperatorError(`${source} is not what a running router writes; restart it.`);
  return { rpcUrls: parsed.data.rpc_urls, secret: parsed.data.internal_auth_secret, source };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function read<Shape extends z.ZodObject>(shape: Shape, env: Environment): z.infer<Shape> {
  const result = readConfig("cli", shape, env);
  if ("config" in result) return result.config;
  throw new OperatorError(`The configuration is not usable: ${result.problems.join("; ")}.`);
}
