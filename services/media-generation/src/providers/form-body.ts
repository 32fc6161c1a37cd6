// Builds a multipart/form-data body for providers that accept files. The body's parts share the bytes of the files. A
// form library would copy them, and sixteen pictures are too large to copy.
import { randomUUID } from "node:crypto";

export interface FormPart {
  readonly name: string;
  readonly value: string | FormFilePart;
}

export interface FormFilePart {
  readonly bytes: Buffer;
  readonly type: string;
  /** Name that the provider sees. We generate it, never the client. */
  readonly filename: string;
}

export interface FormBody {
  readonly contentType: string;
  readonly length: number;
  readonly pieces: readonly Buffer[];
}

export function formBody(parts: readonly FormPart[]): FormBody {
  const boundary = `form-${randomUUID()}`;
  const pieces = parts.flatMap(({ name, value }) => {
    const field = `--${boundary}\r\ncontent-disposition: form-data; name="${name}"`;
    if (typeof value === "string") return [Buffer.from(`${field}\r\n\r\n${value}\r\n`)];
    const { filename, type, bytes } = value;
    const head = `${field}; filename="${filename}"\r\ncontent-type: ${type}\r\n\r\n`;
    return [Buffer.from(head), bytes, Buffer.from("\r\n")];
  });
  pieces.push(Buffer.from(`--${boundary}--\r\n`));
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  return { contentType: `multipart/form-data; boundary=${boundary}`, length, pieces };
}
