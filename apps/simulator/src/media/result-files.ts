// Results that answers link to: GET /files/{name}, for everybody who knows the name and without a key, until the link expires.
import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";

export interface ResultFile {
  readonly name: string;
  /** "image/png", "video/mp4" */
  readonly type: string;
  readonly bytes: Buffer;
}

/** All kept files together; the oldest are dropped beyond it, as if their links had expired. */
const MOST_BYTES = 256 * 1024 * 1024;
const LINK_LIFE_MS = 3_600_000;

export class ResultFiles {
  readonly #files = new Map<string, ResultFile & { readonly expiresAt: number }>();
  #bytes = 0;

  /** @param expired makes a link that leads to nothing from the start */
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

  /** Undefined when the link has expired. */
  find(name: string): ResultFile | undefined {
    const file = this.#files.get(name);
    return file !== undefined && file.expiresAt > Date.now() ? file : undefined;
  }
}

/** The whole address of a file, on the host that the client has called. */
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

/** Object stores refuse a signed link that comes with a key; so nobody sends one there by mistake. */
function carriesKey({ headers }: FastifyRequest): boolean {
  return ["authorization", "x-api-key", "x-key", "x-goog-api-key"].some((name) => name in headers);
}

function extensionOf(type: string): string {
  const [, subtype = "bin"] = type.split("/");
  return subtype === "jpeg" ? "jpg" : subtype;
}
