// Compresses JSON and pages for clients that read compressed answers: in one piece, on a thread of zlib. Answers below a
// packet, streams of events, media and answers with an encoding or a strong tag stay as they are: a strong tag names the bytes. It is
// the gateway that compresses, so that nothing is compressed between the services.
import { pipeline, Readable } from "node:stream";
import { brotliCompress, createBrotliCompress, createGzip, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { rowOf } from "../routes.ts";
import { acceptedEncoding, brotliOptions, type Encoding } from "./accepted-encoding.ts";

/** Bytes of the smallest compressed answer. */
const LEAST = 1_000;
/** Bytes of the largest compressed answer; beyond, compression costs more than it saves. */
const MOST = 1024 * 1024;
const TYPES = ["application/json", "text/html"];
const BROTLI_QUALITY = 4;
const BROTLI_WINDOW_BITS = 18;
const GZIP = { level: 4 };

export function compressAnswers(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const bytes = lengthOf(payload, reply);
    if (bytes < LEAST || bytes > MOST || !isCompressible(request, reply)) {
      done(null, payload);
      return;
    }
    addVary(reply);
    const encoding = acceptedEncoding(request.headers["accept-encoding"]);
    if (encoding === undefined) {
      done(null, payload);
    } else if (payload instanceof Readable) {
      reply.removeHeader("content-length").header("content-encoding", encoding);
      // A stream that fails fails the compressed one, which ends the answer.
      done(
        null,
        pipeline(payload, compressor(encoding, bytes), () => undefined),
      );
    } else {
      compress(encoding, payload as string | Buffer, bytes, (error, compressed) => {
        if (error !== null) return done(error);
        reply.header("content-length", compressed.length).header("content-encoding", encoding);
        done(null, compressed);
      });
    }
  });
}

/** Returns the bytes of an answer; of a stream, its header's value. NaN if unknown. */
function lengthOf(payload: unknown, reply: FastifyReply): number {
  if (typeof payload === "string" || Buffer.isBuffer(payload)) return payload.length;
  return payload instanceof Readable ? Number(reply.getHeader("content-length") ?? Number.NaN) : 0;
}

function isCompressible(request: FastifyRequest, reply: FastifyReply): boolean {
  const type = String(reply.getHeader("content-type") ?? "");
  if (!TYPES.some((known) => type.startsWith(known))) return false;
  if (reply.hasHeader("content-encoding") || isStrong(reply.getHeader("etag"))) return false;
  if (String(reply.getHeader("cache-control") ?? "").includes("no-transform")) return false;
  // Their JSON is base64 of compressed data.
  const row = rowOf(request.raw.url ?? "", request.method);
  return row?.class !== "media" && row?.class !== "downloads";
}

function isStrong(tag: unknown): boolean {
  return typeof tag === "string" && !tag.startsWith("W/");
}

function addVary(reply: FastifyReply): void {
  const vary = reply.getHeader("vary");
  reply.header("vary", vary === undefined ? "accept-encoding" : `${String(vary)}, accept-encoding`);
}

function compress(
  encoding: Encoding,
  payload: string | Buffer,
  bytes: number,
  done: (error: Error | null, compressed: Buffer) => void,
): void {
  if (encoding === "gzip") gzip(payload, GZIP, done);
  else brotliCompress(payload, brotliOptions(bytes, BROTLI_QUALITY, BROTLI_WINDOW_BITS), done);
}

function compressor(encoding: Encoding, bytes: number) {
  if (encoding === "gzip") return createGzip(GZIP);
  return createBrotliCompress(brotliOptions(bytes, BROTLI_QUALITY, BROTLI_WINDOW_BITS));
}
