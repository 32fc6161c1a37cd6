// Serves hosted media to every client with the file's name: GET and HEAD, and ranges.
// The headers keep a browser from treating a picture as another type.

import { once } from "node:events";
import { Readable } from "node:stream";
import { ServiceError } from "@gr/proto";
import { anyone, hasEntityTag, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { type ByteRange, readByteRange } from "./byte-range.ts";
import { contentTypeOf, HOSTED_TYPES } from "./media-name.ts";
import { type MediaStorage, StorageError } from "./media-storage.ts";

export const MEDIA_PATH = "/media";

const RETRY_MS = 1_000;

/** A name never changes its content, so caches may store it for ever. */
const FOR_EVER = { "cache-control": "public, max-age=31536000, immutable" };

/** Set on every answer with a file. */
const HEADERS = {
  "accept-ranges": "bytes",
  "content-disposition": "inline",
  // A browser that opens a video by its URL wraps it in a page, to which this policy applies.
  "content-security-policy": "sandbox; default-src 'none'; media-src 'self'",
  "cross-origin-resource-policy": "cross-origin",
  "x-content-type-options": "nosniff",
};

/** Returns the answers of a route that sends files, for its description. */
export function fileAnswers(...types: readonly string[]) {
  const others = Object.fromEntries(types.map((type) => [type, { schema: z.file() }]));
  return {
    200: { description: "The file", others },
    206: {
      description: "The part named by the Range header",
      others,
      headers: { "Content-Range": "Range of these bytes, and the size of the file" },
    },
    304: { description: "The client has this version already" },
    416: { description: "The Range header names a part beyond the end of the file" },
  };
}

export function mediaRoute(storage: MediaStorage): RestRoute {
  return restRoute({
    method: "GET",
    path: `${MEDIA_PATH}/:name`,
    access: anyone,
    summary: "A generated image or video; the URL alone permits access",
    responses: { ...fileAnswers(...HOSTED_TYPES), 404: { description: "The file does not exist" } },
    handle: ({ http, reply }) =>
      sendFile(storage, (http.params as { name: string }).name, FOR_EVER, http, reply),
  });
}

/** @param caching header for caches */
export async function sendFile(
  storage: MediaStorage,
  name: string,
  caching: { readonly "cache-control": string },
  http: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const contentType = contentTypeOf(name);
  const size = contentType === undefined ? undefined : await storage.size(name).catch(unreachable);
  if (contentType === undefined || size === undefined) {
    throw notFound();
  }
  const tag = `"${name}"`;
  if (hasEntityTag(http.headers["if-none-match"], tag)) {
    return reply.status(304).headers(HEADERS).headers(caching).header("etag", tag).send();
  }
  const range = readByteRange(rangeHeader(http, tag), size);
  if (range === "unsatisfiable") {
    reply.header("content-range", `bytes */${size}`);
    throw new ServiceError("range_not_satisfiable", `The range is outside of the file's ${size} bytes.`);
  }
  const file = http.method === "HEAD" ? Readable.from([]) : await openFile(storage, name, range);
  reply.headers(HEADERS).headers(caching).header("etag", tag).type(contentType);
  if (range === undefined) reply.header("content-length", size);
  else {
    reply
      .status(206)
      .header("content-range", `bytes ${range.start}-${range.end}/${size}`)
      .header("content-length", range.end - range.start + 1);
  }
  return reply.send(file);
}

/**
 * Waits for the first bytes. A file that was deleted a moment ago then answers "not found" instead of breaking off.
 */
async function openFile(
  storage: MediaStorage,
  name: string,
  range: ByteRange | undefined,
): Promise<Readable> {
  const file = storage.read(name, range);
  try {
    await once(file, "readable");
    return file;
  } catch (error) {
    if ((await storage.size(name)) === undefined) throw notFound();
    throw error;
  }
}

function notFound(): ServiceError {
  return new ServiceError("media_not_found", "The file does not exist; it may have been deleted.");
}

function unreachable(cause: unknown): never {
  if (!(cause instanceof StorageError)) throw cause;
  const message = "Media cannot be read at the moment; try again shortly.";
  throw new ServiceError("service_unavailable", message, { retryAfterMs: RETRY_MS, cause });
}

/** Ranges apply to GET only, and only to the client's version of the file. */
function rangeHeader(http: FastifyRequest, tag: string): string | undefined {
  const { range, "if-range": ifRange } = http.headers;
  return http.method !== "GET" || (ifRange !== undefined && ifRange !== tag) ? undefined : range;
}
