// The web application serves the console's build, from the folder in CONSOLE_DIR, under the root of the public address.
// A page request for a missing file gets the application's start page, which routes by itself. Scripts and styles load
// from here only; the page has a nonce of its own for styles that are created at run time.
import { randomBytes } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { OperatorError } from "@gr/runtime";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { REFERENCE_PAGE } from "./description/api-reference.ts";
import { routeTable } from "./routes.ts";

/** Placeholder of the nonce in the start page. */
const NONCE = "__CSP_NONCE__";
/** Placeholder of the address for callers of the API. */
const PUBLIC_BASE_URL = "__PUBLIC_BASE_URL__";
const START_PAGE = "/index.html";
/** Files with a content hash in their names. */
const LASTING = /^\/assets\//;
/** A page of the guides: its address has no extension. */
const GUIDE = /^\/docs\/[\w-]+$/;
const GUIDE_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The first page of the guides. */
export const GUIDE_PAGE = "/docs/api";
const COMPRESSED = /\.(?:br|gz)$/;
const READING = new Set(["GET", "HEAD"]);
/** Prefixes of the API, where no page can be. */
const RESERVED = [
  ...new Set(routeTable.map(({ prefix }) => `/${prefix.split("/")[1]}`).filter((top) => top !== "/console")),
  "/console/api",
  REFERENCE_PAGE,
];

export interface WebApplication {
  /** True if the build has the guides. */
  readonly hasGuides: boolean;
  /** Returns the file for a request; undefined = the application has none. */
  find(request: FastifyRequest): string | undefined;
  /** Sends a file that was found. */
  send(file: string, reply: FastifyReply): FastifyReply;
}

export interface WebApplicationOptions {
  /** The folder of the build. */
  readonly dir: string;
  /** Public address of the API: pages fetch from its origin, show its pictures, and name it in code; undefined = our own. */
  readonly publicBaseUrl: string | undefined;
}

/** @throws OperatorError when the folder has no start page. */
export async function openWebApplication(
  app: FastifyInstance,
  { dir, publicBaseUrl }: WebApplicationOptions,
): Promise<WebApplication> {
  const built = await readFile(join(dir, START_PAGE), "utf8").catch((error: Error) => {
    throw new OperatorError(`CONSOLE_DIR has no start page: ${error.message}; build the console first.`);
  });
  const origins = publicBaseUrl === undefined ? [] : [new URL(publicBaseUrl).origin];
  const page = built.replaceAll(PUBLIC_BASE_URL, () => attributeText(publicBaseUrl ?? ""));
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
    hasGuides: files.has(`${GUIDE_PAGE}.html`),
    find: (request) => {
      if (!READING.has(request.method)) return undefined;
      const [path = "/"] = request.url.split("?", 1);
      if (files.has(path)) return path;
      if (GUIDE.test(path) && files.has(`${path}.html`)) return `${path}.html`;
      return isPage(path, request.headers.accept) ? START_PAGE : undefined;
    },
    send: (file, reply) => {
      reply.header("x-content-type-options", "nosniff").header("referrer-policy", "no-referrer");
      if (file !== START_PAGE) {
        reply.header(
          "cache-control",
          LASTING.test(file) ? "public, max-age=31536000, immutable" : "no-cache",
        );
        if (file.endsWith(".html")) reply.header("content-security-policy", GUIDE_POLICY);
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

function attributeText(value: string): string {
  return value.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}

/** Returns true for paths without an extension, so that a missing file is reported as missing. */
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
