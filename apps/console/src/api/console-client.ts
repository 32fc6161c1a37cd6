// Calls of the console's own API, by the table of routes that the server checks them with.

import { addresses } from "virtual:console-addresses";
import type { AnswerOf, BodyOf, ConsoleRouteName, QueryOf } from "@gr/console-api";
import { ApiError, errorOf, NO_ANSWER } from "./api-error.ts";
import { earlyAnswer } from "./early-answers.ts";

export interface CallOptions<Name extends ConsoleRouteName> {
  /** Values for the path's names after a colon. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: QueryOf<Name>;
  readonly body?: BodyOf<Name>;
  readonly signal?: AbortSignal;
}

/** @throws ApiError */
export async function call<Name extends ConsoleRouteName>(
  name: Name,
  { path = {}, query, body, signal }: CallOptions<Name> = {},
): Promise<AnswerOf<Name>> {
  const { method } = addresses[name];
  const response = await send(urlOf(name, path, query as object | undefined), {
    method,
    ...(signal && { signal }),
    ...(body !== undefined && {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  });
  if (!response.ok) throw await errorOf(response);
  if (response.status === 204 || response.status === 202) return undefined as AnswerOf<Name>;
  return (await response.json()) as AnswerOf<Name>;
}

/** The address of a route, such as for the download of a file. */
export function urlOf(
  name: ConsoleRouteName,
  path: Readonly<Record<string, string>>,
  query?: object,
): string {
  const filled = addresses[name].path.replace(/:([a-z]+)/g, (_, part: string) =>
    encodeURIComponent(path[part] ?? ""),
  );
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== "") search.set(key, String(value));
  }
  return search.size === 0 ? filled : `${filled}?${search}`;
}

/** @throws ApiError if no server answers; DOMException after the caller's abort */
export async function send(url: string, init?: RequestInit): Promise<Response> {
  try {
    return await (earlyAnswer(url, init?.method) ?? fetch(url, init));
  } catch (error) {
    if (init?.signal?.aborted) throw error;
    throw new ApiError({ message: "The router cannot be reached.", status: NO_ANSWER });
  }
}
