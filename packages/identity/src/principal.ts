// Who makes a request, as the gateway found out. The runtime carries it between processes, signed, without looking
// into it; the gateway is the only one that makes it.

export interface Principal {
  readonly accountId: string;
  /** Id of the key and of its spender; of a web token, the account's. */
  readonly keyId: string;
  /** A web token may do what a normal key may. */
  readonly kind: "normal" | "management" | "web_token";
  /** Of a web token, which no table has: Unix milliseconds. */
  readonly expiresAt?: number;
  /** Of a web token: id of the person to whom it was issued; absent when it was issued to no person. */
  readonly personId?: string;
}
