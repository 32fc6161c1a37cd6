// One request as an ordinary client sends it.
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface CallInit {
  readonly method?: string;
  /** Secret of an API key. */
  readonly key?: string;
  readonly headers?: Record<string, string>;
  /** Objects are sent as JSON. */
  readonly body?: string | Uint8Array<ArrayBuffer> | object;
  readonly signal?: AbortSignal;
}

export function open(url: string, { method, key, headers, body, signal }: CallInit = {}): Promise<Response> {
  const isJson = typeof body === "object" && !(body instanceof Uint8Array);
  return fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(isJson ? { "content-type": "application/json" } : {}),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : body }),
    ...(signal === undefined ? {} : { signal }),
  });
}

export async function call(url: string, init?: CallInit): Promise<Answer> {
  const response = await open(url, init);
  const text = await response.text();
  const isJson = text !== "" && response.headers.get("content-type")?.startsWith("application/json");
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** The body of our error envelope. */
export function errorOf({ body }: Answer): { message: string; type: string; code?: string; param?: string } {
  return (body as { error: { message: string; type: string } }).error;
}
