// Fetches the pages of a statement: bounded in number, time and size, no redirect followed, the key in no error.
import { parseJsonBytes } from "@gr/runtime";
import type { z } from "zod";
import { UnusableStatement } from "./provider-statement.ts";

const MOST_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 20_000;
const MOST_PAGES = 100;

export interface StatementAddress {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  readonly key: string;
}

/**
 * @param path from the base URL, with its query
 * @throws UnusableStatement also when the answer does not fit the schema
 */
export async function fetchStatement<Schema extends z.ZodType>(
  { baseUrl, key }: StatementAddress,
  path: string,
  schema: Schema,
  options: { signal?: AbortSignal | undefined; scheme?: "Bearer" | "Key" } = {},
): Promise<z.output<Schema>> {
  const overdue = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(`${baseUrl}${path}`, {
      headers: { accept: "application/json", authorization: `${options.scheme ?? "Bearer"} ${key}` },
      redirect: "error",
      signal: AbortSignal.any([overdue, ...(options.signal === undefined ? [] : [options.signal])]),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new UnusableStatement(problemOf(response.status));
    }
    const read = schema.safeParse(jsonOf(await readBounded(response)));
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    throw new UnusableStatement(
      `the answer of the provider is no statement: field "${issue?.path.join(".")}" is not usable`,
    );
  } catch (error) {
    if (error instanceof UnusableStatement) throw error;
    if (overdue.aborted) throw new UnusableStatement(`the provider did not answer within ${TIMEOUT_MS} ms`);
    throw new UnusableStatement(`the provider was not reached (${reasonOf(error)})`);
  }
}

/**
 * Reads all pages of a statement.
 * @param read reads the page at a cursor, and returns that of the next page, if any
 * @throws UnusableStatement beyond 100 pages
 */
export async function readPages(
  read: (cursor: string | undefined) => Promise<string | null | undefined>,
): Promise<void> {
  let cursor: string | undefined;
  for (let count = 0; count < MOST_PAGES; count += 1) {
    cursor = (await read(cursor)) || undefined;
    if (cursor === undefined) return;
  }
  throw new UnusableStatement(`the statement has more than ${MOST_PAGES} pages`);
}

function problemOf(status: number): string {
  if (status === 401 || status === 403) {
    return `the provider answered ${status}: the key in STATEMENT_KEYS is wrong, or is no management or admin key`;
  }
  return `the provider answered ${status}`;
}

async function readBounded(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // The end of the loop cancels the body.
    if (bytes > MOST_BYTES) {
      throw new UnusableStatement(`the answer of the provider is larger than ${MOST_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return parseJsonBytes(bytes);
  } catch {
    throw new UnusableStatement("the answer of the provider is not JSON, or has a field twice");
  }
}

/** `fetch failed` names no cause; its cause has a code. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
}
