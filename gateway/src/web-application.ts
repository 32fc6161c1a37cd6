// The console's web application: the files of its build, from the folder that CONSOLE_DIR names, under the root of the public
// address. What is no file and asked for as a page is the application's start page, which finds its own way. Scripts and
// styles come from here only; the page has a nonce of its own for styles that are made at run time.
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { OperatorError } from "@gr/runtime";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { REFERENCE_PAGE } from "./api-reference.ts";
import { routeTable } from "./routes.ts";

/** Where the start page wants the nonce. */
const NONCE = "__CSP_NONCE__";
const START_PAGE = "/index.html";
/** The build names these files by what is in them. */
const LASTING = /^\/assets\//;
const COMPRESSED = /\.(?:br|gz)$/;
const READING = new Set(["GET", "HEAD"]);
/** Pages lie anywhere but where the API is. */
const RESERVED = [
  ...new Set(routeTable.map(({ prefix }) => `/${prefix.split("/")[1]}`).filter((top) => top !== "/console")),
  "/console/api",
  REFERENCE_PAGE,
];

export interface WebApplication {
  /** The file that answers a request; undefined = it is none of the application's. */
  find(request: FastifyRequest): string | undefined;
  /** Sends a file that was found. */
  send(file: string, reply: FastifyReply): FastifyReply;
}

export interface WebApplicationOptions {
  /** The folder of the build. */
  readonly dir: string;
  /** Origins besides our own that pages fetch from and show pictures of. */
  readonly origins: readonly string[];
}

/** @throws OperatorError when the folder has no start page. */
export async function openWebApplication(
  app: FastifyInstance,
  { dir, origins }: WebApplicationOptions,
): Promise<WebApplication> {
  const page = await readFile(join(dir, START_PAGE), "utf8").catch((error: Error) => {
    throw new OperatorError(`CONSOLE_DIR has no start page: ${error.message}; build the console first.`);
  });
  const files = await filesIn(dir);
  const { default: fastifyStatic } = await import("@fastify/static");
  await app.register(fastifyStatic, {
    root: dir,
    serve: false,
    index: false,
    cacheControl: false,
    // The build has its large files compressed, too.
    preCompressed: true,
  });
  return {
    find: (request) => {
      if (!READING.has(request.method)) return undefined;
      const [path = "/"] = request.url.split("?", 1);
      if (files.has(path)) return path;
      return isPage(path, request.headers.accept) ? START_PAGE : undefined;
    },
    send: (file, reply) => {
      reply.header("x-content-type-options", "nosniff").header("referrer-policy", "no-referrer");
      if (file !== START_PAGE) {
        reply.header(
          "cache-control",
          LASTING.test(file) ? "public, max-age=31536000, immutable" : "no-cache",
        );
        return reply.sendFile(file);
      }
      const nonce = randomBytes(16).toString("base64");
      return reply
        .header("content-security-policy", policyOf(nonce, origins))
        .header("cache-control", "no-store")
        .type("text/html; charset=utf-8")
        .send(page.replaceAll(NONCE, nonce));
    },
  };
}

/** Nothing that has an extension, so that a file that is missing is missing. */
function isPage(path: string, accept = ""): boolean {
  if (!accept.includes("text/html")) return false;
  if (RESERVED.some((top) => path === top || path.startsWith(`${top}/`))) return false;
  return !path.slice(path.lastIndexOf("/")).includes(".");
}

async function filesIn(dir: string): Promise<Set<string>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("."));
  const paths = new Set(
    files.map(({ parentPath, name }) => `/${relative(dir, join(parentPath, name)).replaceAll(sep, "/")}`),
  );
  // A compressed copy is not a file of its own.
  return new Set(
    [...paths].filter((path) => !paths.has(path.replace(COMPRESSED, "")) || !COMPRESSED.test(path)),
  );
}

function policyOf(nonce: string, origins: readonly string[]): string {
  const from = ["'self'", ...origins].join(" ");
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src ${from} data: blob:`,
    `media-src ${from} blob:`,
    "font-src 'self'",
    `connect-src ${from}`,
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}
