// readChat reads a streamed chat completion: text on arrival, and the cost at the end.
import { ApiError } from "./api-error.ts";

/** Without an exponent. */
const PLAIN = new Intl.NumberFormat("en", { maximumFractionDigits: 12 });

export interface ChatPart {
  readonly text: string;
  /** True cost in USD from the last event; the charge is this, rounded up to 0.0001. */
  readonly cost?: string;
}

interface Chunk {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly usage?: { readonly cost?: number } | null;
  readonly error?: { readonly message: string; readonly code?: string };
}

/** @throws ApiError when the stream ends with an error event */
export async function* readChat(response: Response): AsyncGenerator<ChatPart> {
  if (response.body === null) return;
  let remaining = "";
  for await (const text of piecesOf(response.body)) {
    const lines = (remaining + text).split("\n");
    remaining = lines.pop() ?? "";
    for (const line of lines) {
      const part = readLine(line, response);
      if (part !== undefined) yield part;
    }
  }
}

async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      yield decoder.decode(read.value, { stream: true });
    }
  } finally {
    await reader.cancel();
  }
}

function readLine(line: string, response: Response): ChatPart | undefined {
  if (!line.startsWith("data:")) return undefined;
  const data = line.slice("data:".length).trim();
  if (data === "[DONE]" || data === "") return undefined;
  const chunk = JSON.parse(data) as Chunk;
  if (chunk.error !== undefined) {
    throw new ApiError({
      message: chunk.error.message,
      status: response.status,
      code: chunk.error.code,
      requestId: response.headers.get("x-request-id") ?? undefined,
    });
  }
  const text = chunk.choices?.[0]?.delta?.content ?? "";
  const cost = chunk.usage?.cost;
  return { text, ...(cost !== undefined && { cost: PLAIN.format(cost) }) };
}
