// Public API calls of the application: the catalogue, and the requests of the playground.

import { errorOf } from "./api-error.ts";
import { call, send } from "./console-client.ts";

export type ModelType = "image" | "video" | "text";

/** A model as `GET /v1/models` lists it; the fields that are shown. */
export interface ModelRecord {
  readonly id: string;
  readonly type: ModelType;
  readonly name: string;
  readonly owned_by: string;
  readonly providers: readonly string[];
  readonly pricing: ModelPricing;
  readonly capabilities: readonly string[];
  readonly supported_parameters: readonly string[];
  readonly sizes: readonly string[];
  readonly custom_size: Readonly<Record<string, number | null>> | null;
  readonly qualities: readonly string[];
  readonly seconds: readonly number[];
  readonly default: {
    readonly size: string | null;
    readonly quality: string | null;
    readonly seconds: number | null;
  };
  readonly limits: { readonly input_images: number | null; readonly prompt_characters: number | null };
  readonly context_length: number | null;
  readonly max_output_tokens: number | null;
  readonly arena_score: number | null;
  readonly arena: { readonly board: string; readonly as_of: string; readonly attribution: string } | null;
  readonly release_date: string | null;
  readonly shutdown_date: string | null;
}

/** Decimal strings of USD: for a whole request, or for a token if the unit is one. */
export interface ModelPricing {
  readonly unit: string;
  readonly free?: boolean;
  readonly lowest?: string | null;
  readonly highest?: string | null;
  readonly default_request?: string;
  readonly [meter: string]: unknown;
}

/** A request to the public API, as it is sent, quoted, and shown as code. */
export interface ApiRequest {
  readonly type: ModelType;
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Files make the body a form. */
  readonly files: readonly { readonly field: string; readonly name: string; readonly content: Blob }[];
  /** The answer is 202 at once; the request runs on. */
  readonly isAsync: boolean;
}

/** A price before the request. */
export interface Quote {
  /** USD. */
  readonly cost: number;
  /** False: the cost is the highest one. */
  readonly is_exact: boolean;
}

/** Time before its end in which a token is no longer used, in milliseconds. */
const TOKEN_REST_MS = 60_000;
const tokens = new Map<string, { readonly token: string; readonly until: number }>();

export async function listModels(signal?: AbortSignal): Promise<readonly ModelRecord[]> {
  const response = await send("/v1/models?type=all", signal ? { signal } : {});
  if (!response.ok) throw await errorOf(response);
  return ((await response.json()) as { data: ModelRecord[] }).data;
}

/** Sends a request with the caller's own token, which spends from the account. @throws ApiError */
export async function generate(account: string, request: ApiRequest, signal: AbortSignal): Promise<Response> {
  return post(account, request.path, request, signal);
}

/** @throws ApiError */
export async function quoteOf(account: string, request: ApiRequest, signal: AbortSignal): Promise<Quote> {
  const path = request.path.replace("/compat/", "/quote/");
  return (await post(account, path, { ...request, isAsync: false }, signal)).json();
}

/** Deletes the tokens of the signed-in person. */
export function forgetTokens(): void {
  tokens.clear();
}

async function post(
  account: string,
  path: string,
  { body, files, isAsync }: ApiRequest,
  signal: AbortSignal,
): Promise<Response> {
  const isForm = files.length > 0;
  const response = await send(path, {
    method: "POST",
    signal,
    headers: {
      authorization: `Bearer ${await tokenOf(account, signal)}`,
      ...(isForm ? {} : { "content-type": "application/json" }),
      ...(isAsync ? { prefer: "respond-async" } : {}),
    },
    body: isForm ? formOf(body, files) : JSON.stringify(body),
  });
  if (response.ok) return response;
  // The next request gets a new token.
  if (response.status === 401) tokens.delete(account);
  throw await errorOf(response);
}

async function tokenOf(account: string, signal: AbortSignal): Promise<string> {
  const known = tokens.get(account);
  if (known !== undefined && Date.now() < known.until) return known.token;
  const { token, expires_at } = await call("issueWebToken", { path: { account }, signal });
  tokens.set(account, { token, until: Date.parse(expires_at) - TOKEN_REST_MS });
  return token;
}

function formOf(body: ApiRequest["body"], files: ApiRequest["files"]): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, String(value));
  for (const { field, name, content } of files) form.append(field, content, name);
  return form;
}
