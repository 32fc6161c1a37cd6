// Answer files are the output as base64 within an answer, read from memory or from the storage. Each piece is encoded
// when the client reads it. An answer therefore uses no more memory than its files, and hosted files use none.
import { StringDecoder } from "node:string_decoder";
import type { OutputFile } from "../generation/generation.ts";
import type { MediaStorage } from "../storage/media-storage.ts";

export interface AnswerFile {
  /** Size of the file, in bytes. */
  readonly size: number;
  /** May fail for a hosted file, which can be deleted at any time. */
  read(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

const PIECE_BYTES = 256 * 1024;

export async function answerFile(
  storage: Pick<MediaStorage, "size" | "read">,
  file: OutputFile,
): Promise<AnswerFile> {
  if ("bytes" in file) return memoryFile(file.bytes);
  const { storedAs } = file;
  const size = await storage.size(storedAs);
  if (size === undefined) throw new Error(`${storedAs} was deleted before its answer was sent`);
  return { size, read: () => storage.read(storedAs) };
}

export function memoryFile(bytes: Buffer): AnswerFile {
  return { size: bytes.length, read: () => piecesOf(bytes) };
}

/** Number of base64 characters for a number of bytes. */
export const base64Length = (bytes: number) => Math.ceil(bytes / 3) * 4;

export async function* base64Of(file: AnswerFile): AsyncGenerator<string> {
  const decoder = new StringDecoder("base64");
  for await (const piece of file.read())
    yield decoder.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
  yield decoder.end();
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES) yield bytes.subarray(from, from + PIECE_BYTES);
}
