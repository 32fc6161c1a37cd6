// Public API calls of the application: the catalogue, and the generations of the playground.

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

export async function listModels(signal?: AbortSignal): Promise<readonly ModelRecord[]> {
  const response = await send("/v1/models?type=all", signal ? { signal } : {});
  if (!response.ok) throw await errorOf(response);
  return ((await response.json()) as { data: ModelRecord[] }).data;
}

/** Sent with the caller's own token, which spends from the account. */
export async function generate(
  account: string,
  path: string,
  body: FormData | object,
  signal: AbortSignal,
): Promise<Response> {
  const { token } = await call("issueWebToken", { path: { account }, signal });
  const isForm = body instanceof FormData;
  const response = await send(path, {
    method: "POST",
    signal,
    headers: {
      authorization: `Bearer ${token}`,
      ...(isForm ? {} : { "content-type": "application/json" }),
    },
    body: isForm ? body : JSON.stringify(body),
  });
  if (!response.ok) throw await errorOf(response);
  return response;
}
