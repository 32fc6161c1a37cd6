// StaticAnswer is an answer that is the same for everybody: one buffer for each encoding, shared by all its readers.
// Compression runs once and outside of the event loop. A tag lets browsers revalidate. A long answer is sent in pieces,
// so that a slow reader holds one piece and not the whole.
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { brotliCompress, gzip } from "node:zlib";
import { hasEntityTag } from "@gr/runtime";
import type { FastifyReply, FastifyRequest } from "fastify";
import { acceptedEncoding, brotliOptions, type Encoding } from "./accepted-encoding.ts";

/** Bytes of one piece. */
const PIECE = 64 * 1024;
/** Bytes of the smallest compressed answer; less fits into a packet anyway. */
const LEAST_COMPRESSED = 1_000;
/** High quality: compression runs once, so the size counts more than the work. */
const BROTLI_QUALITY = 9;
const BROTLI_WINDOW_BITS = 24;
const GZIP_LEVEL = 9;
const TAG_DIGITS = 22;

const compress: Readonly<Record<Encoding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, brotliOptions(bytes.length, BROTLI_QUALITY, BROTLI_WINDOW_BITS)),
  gzip: (bytes) => promisify(gzip)(bytes, { level: GZIP_LEVEL }),
};

export interface StaticAnswerOptions {
  readonly type: string;
  readonly cacheControl: string;
}

export class StaticAnswer {
  readonly text: string;
  readonly #bytes: Buffer;
  readonly #digest: string;
  readonly #options: StaticAnswerOptions;
  readonly #compressed = new Map<Encoding, Promise<Buffer>>();

  constructor(text: string, options: StaticAnswerOptions) {
    this.text = text;
    this.#bytes = Buffer.from(text);
    this.#digest = createHash("sha256").update(this.#bytes).digest("base64url").slice(0, TAG_DIGITS);
    this.#options = options;
  }

  /** Returns the tag of the answer in that encoding: other bytes have another tag. */
  tag(encoding: Encoding | undefined): string {
    return `"${this.#digest}${encoding === undefined ? "" : `-${encoding}`}"`;
  }

  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { type, cacheControl } = this.#options;
    const isCompressible = this.#bytes.length >= LEAST_COMPRESSED;
    const encoding = isCompressible ? acceptedEncoding(request.headers["accept-encoding"]) : undefined;
    const tag = this.tag(encoding);
    reply.header("cache-control", cacheControl).header("etag", tag);
    if (isCompressible) reply.header("vary", "accept-encoding");
    if (hasEntityTag(request.headers["if-none-match"], tag)) return reply.status(304).send();
    const bytes = encoding === undefined ? this.#bytes : await this.#in(encoding);
    if (encoding !== undefined) reply.header("content-encoding", encoding);
    reply.type(type).header("content-length", bytes.length);
    return reply.send(
      bytes.length > PIECE ? Readable.from(piecesOf(bytes), { objectMode: false, highWaterMark: 1 }) : bytes,
    );
  }

  #in(encoding: Encoding): Promise<Buffer> {
    const known = this.#compressed.get(encoding);
    if (known !== undefined) return known;
    const compressed = compress[encoding](this.#bytes);
    this.#compressed.set(encoding, compressed);
    compressed.catch(() => this.#compressed.delete(encoding));
    return compressed;
  }
}

/** Views of the one buffer. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += PIECE) yield bytes.subarray(start, start + PIECE);
}
