// The principal is the sender of a request, as authenticated by the gateway, which alone creates it.
// The runtime sends it between processes, signed, without reading it.

/** Forms of the files in an answer about images or videos. */
export const RESPONSE_FORMATS = ["url", "b64_json", "b64_ephemeral"] as const;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];

/** Names that a key may use. A list is never empty. */
export interface AllowLists {
  /** Ids of models, or their beginnings with * at the end; absent = all models. */
  readonly models?: readonly string[];
  /** Names of providers in the routes of models; absent = all providers. */
  readonly providers?: readonly string[];
}

export interface Principal {
  readonly accountId: string;
  /** Id of the key and of its spender; for a web token, the account's id. */
  readonly keyId: string;
  /** A web token has the rights of a normal key. */
  readonly kind: "normal" | "management" | "web_token";
  /** Unix milliseconds; only for a web token, which no table has. */
  readonly expiresAt?: number;
  /** Only for a web token: id of the person that received it; absent if it was issued to no person. */
  readonly personId?: string;
  /** The response_format of requests without one, as the key or its account has it; absent = url. */
  readonly responseFormat?: ResponseFormat;
  /** True: the key saves prompts and answers of its text requests. Absent = it saves none. */
  readonly savesTexts?: true;
  /** Absent = the key allows all. */
  readonly allowed?: AllowLists;
}
