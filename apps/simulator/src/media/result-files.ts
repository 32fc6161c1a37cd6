// ResultFiles are the results that answers link to: GET /files/{name}, without a key, until the link expires.
import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";

export interface ResultFile {
  readonly name: string;
  /** "image/png", "video/mp4" */
  readonly type: string;
  readonly bytes: Buffer;
}

/** Bytes of all files together. Above this limit the oldest are deleted, as if their links had expired. */
const MOST_BYTES = 256 * 1024 * 1024;
const LINK_LIFE_MS = 3_600_000;

export class ResultFiles {
  readonly #files = new Map<string, ResultFile & { readonly expiresAt: number }>();
  #bytes = 0;

  /** @param expired creates a link that is expired from the start */
  keep(type: string, bytes: Buffer, expired: boolean): ResultFile {
    const name = `${randomBytes(12).toString("hex")}.${extensionOf(type)}`;
    const file = { name, type, bytes };
    this.#files.set(name, { ...file, expiresAt: expired ? 0 : Date.now() + LINK_LIFE_MS });
    this.#bytes += bytes.length;
    for (const [oldest, { bytes: dropped }] of this.#files) {
      if (this.#bytes <= MOST_BYTES) break;
      this.#files.delete(oldest);
      this.#bytes -= dropped.length;
    }
    return file;
  }

  /** Undefined for an expired link. */
  find(name: string): ResultFile | undefined {
    const file = this.#files.get(name);
    return file !== undefined && file.expiresAt > Date.now() ? file : undefined;
  }
}

/** Complete address of a file, on the host of the client's request. */
export function linkTo(request: FastifyRequest, { name }: ResultFile): string {
  return `http://${request.host}/files/${name}`;
}

export function resultFileRoutes(files: ResultFiles) {
  return async (app: FastifyInstance): Promise<void> => {
    app.get<{ Params: { name: string } }>("/files/:name", (request, reply) => {
      const file = files.find(request.params.name);
      if (file === undefined) return reply.code(403).type("text/plain").send("Request has expired");
      if (carriesKey(request)) {
        return reply.code(400).type("text/plain").send("Only one auth mechanism allowed");
      }
      return reply.type(file.type).send(file.bytes);
    });
  };
}

/** Object stores refuse a signed link together with a key, so this mistake is refused here, too. */
function carriesKey({ headers }: FastifyRequest): boolean {
  return ["authorization", "x-api-key", "x-key", "x-goog-api-key"].some((name) => name in headers);
}

function extensionOf(type: string): string {
  const [, subtype = "bin"] = type.split("/");
  return subtype === "jpeg" ? "jpg" : subtype;
}
