// The fake router answers the calls of an application in a test, and remembers them. A call without an answer fails with
// its address.

export interface RouterCall {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Parsed JSON, or a form; undefined without a body. */
  readonly body: unknown;
  /** Aborts when the page stops the call. */
  readonly signal: AbortSignal | undefined;
}

/** Returns JSON, or a whole answer. */
type Answer = (call: RouterCall) => unknown;

export class FakeRouter {
  readonly calls: RouterCall[] = [];
  readonly #answers = new Map<string, Answer>();

  /** Replaces `fetch` of this page. */
  constructor() {
    globalThis.fetch = (input, init) => this.#fetch(String(input), init ?? {});
  }

  /** @param route such as "GET /console/api/session" */
  on(route: string, answer: Answer): this {
    this.#answers.set(route, answer);
    return this;
  }

  callsOf(route: string): RouterCall[] {
    return this.calls.filter(({ method, path }) => `${method} ${path}` === route);
  }

  async #fetch(input: string, { method = "GET", headers, body, signal }: RequestInit): Promise<Response> {
    const { pathname: path, searchParams: query } = new URL(input, window.location.href);
    const call: RouterCall = {
      ...{ method, path, query, headers: new Headers(headers) },
      body: typeof body === "string" ? JSON.parse(body) : (body ?? undefined),
      signal: signal ?? undefined,
    };
    this.calls.push(call);
    const answer = this.#answers.get(`${method} ${path}`);
    if (answer === undefined) return errorAnswer(404, "not_found", `No answer for ${method} ${path}`);
    const given = await answer(call);
    return given instanceof Response ? given : Response.json(given);
  }
}

export function errorAnswer(status: number, code: string, message: string): Response {
  return Response.json({ error: { message, type: "error", code } }, { status });
}

/** A streamed answer: an event for each chunk, then the mark of the end. */
export function streamAnswer(chunks: readonly object[], headers: Record<string, string> = {}): Response {
  return eventAnswer(`${eventsOf(chunks)}data: [DONE]\n\n`, headers);
}

/** A streamed answer that waits after its chunks until the page stops the call. */
export function unendedAnswer(
  { signal }: RouterCall,
  chunks: readonly object[],
  headers: Record<string, string> = {},
): Response {
  const body = new ReadableStream({
    start: (stream) => {
      stream.enqueue(new TextEncoder().encode(eventsOf(chunks)));
      signal?.addEventListener("abort", () => stream.error(signal.reason));
    },
  });
  return eventAnswer(body, headers);
}

const eventsOf = (chunks: readonly object[]) =>
  chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");

function eventAnswer(body: BodyInit, headers: Record<string, string>): Response {
  return new Response(body, { headers: { "content-type": "text/event-stream", ...headers } });
}
