// Fetches an upstream's GET /models, with limits of time and size. No redirect is followed,
// and no error contains the key.
import { readForeignJson } from "@gr/runtime";
import type { TextUpstream } from "@gr/text-upstream";
import { UnusableListing } from "../files/text-listing.ts";

/**
 * Several times the size of the largest listings. The answer to a sync has two catalogues
 * of this size in one RPC message.
 */
export const MOST_LISTING_BYTES = 4 * 1024 * 1024;

/** @throws UnusableListing with a reason for the operator; AbortError-like errors when `signal` is aborted. */
export async function fetchListing(
  upstream: TextUpstream,
  limits: { timeoutMs: number; signal: AbortSignal },
): Promise<unknown> {
  const overdue = AbortSignal.timeout(limits.timeoutMs);
  try {
    const response = await fetch(`${upstream.baseUrl}/models`, {
      headers: {
        accept: "application/json",
        ...(upstream.apiKey === undefined ? {} : { authorization: `Bearer ${upstream.apiKey}` }),
      },
      redirect: "error",
      signal: AbortSignal.any([limits.signal, overdue]),
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new UnusableListing(`the upstream answered ${response.status}`);
    }
    return await parse(await readBounded(response), upstream.name);
  } catch (error) {
    if (error instanceof UnusableListing) throw error;
    if (overdue.aborted) throw new UnusableListing(`there was no whole answer within ${limits.timeoutMs} ms`);
    throw new UnusableListing(`the upstream was not reached (${reasonOf(error)})`);
  }
}

async function readBounded(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    // The end of the loop cancels the body.
    if (bytes > MOST_LISTING_BYTES) {
      throw new UnusableListing(`the answer is larger than ${MOST_LISTING_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function parse(bytes: Buffer, owner: string): Promise<unknown> {
  try {
    return await readForeignJson(bytes, { owner });
  } catch {
    throw new UnusableListing("the answer is not JSON");
  }
}

/** `fetch failed` is no explanation; its cause is. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
}
