// readChat reads a streamed chat completion: text and calls of tools on arrival, cost and tokens at the end.
import { ApiError } from "./api-error.ts";

export interface ChatPart {
  readonly text: string;
  readonly toolCalls: readonly ToolCallPart[];
  /** From the last event. */
  readonly usage?: ChatUsage;
}

export interface ToolCallPart {
  /** Number of the call in its answer. */
  readonly index: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

export interface ChatUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  /** True cost in USD; the charge is this, rounded up to 0.0001. */
  readonly cost?: number;
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly tool_calls?: readonly ToolCallPart[] | null;
    };
  }[];
  readonly usage?: ChatUsage | null;
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
  const delta = chunk.choices?.[0]?.delta;
  return {
    text: delta?.content ?? "",
    toolCalls: delta?.tool_calls ?? [],
    ...(chunk.usage != null && { usage: chunk.usage }),
  };
}
