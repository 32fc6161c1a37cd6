// FakeKeys is a keys service in memory: it resolves the secrets of a test, and counts its calls.
import { randomBytes, randomUUID } from "node:crypto";
import { createKeySecret } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { KeyKind, KeysService } from "@gr/proto/keys";
import { implement } from "@gr/runtime";

export interface FakeKey {
  readonly secret: string;
  readonly keyId: string;
  readonly accountId: string;
}

export class FakeKeys {
  /** Look-ups so far. */
  lookUps = 0;
  /** True = every look-up fails as if the database were down. */
  broken = false;
  readonly #allowed = new Map<string, readonly string[]>();
  readonly #keys = new Map<string, FakeKey & { kind: KeyKind; expiresAt: bigint | undefined }>();

  add(kind: "normal" | "management", options: { expiresAt?: number; accountId?: string } = {}): FakeKey {
    const { accountId = randomUUID() } = options;
    const key = { secret: createKeySecret(kind), keyId: randomUUID(), accountId };
    this.put(kind, key, options);
    return key;
  }

  put(kind: "normal" | "management", key: FakeKey, options: { expiresAt?: number } = {}): void {
    this.#keys.set(key.secret, {
      ...key,
      kind: kind === "normal" ? KeyKind.NORMAL : KeyKind.MANAGEMENT,
      expiresAt: options.expiresAt === undefined ? undefined : BigInt(options.expiresAt),
    });
  }

  /** Adds a token with the form of a web token; only this fake resolves it. */
  addWebToken(expiresAt: number, accountId: string = randomUUID()): FakeKey {
    const part = (content: object) => Buffer.from(JSON.stringify(content)).toString("base64url");
    const signature = randomBytes(64).toString("base64url");
    const secret = `${part({ alg: "EdDSA" })}.${part({ exp: expiresAt })}.${signature}`;
    const token = { secret, keyId: accountId, accountId };
    this.#keys.set(secret, { ...token, kind: KeyKind.WEB_TOKEN, expiresAt: BigInt(expiresAt) });
    return token;
  }

  /** Gives a key the allow-list of models. */
  allowModels({ secret }: FakeKey, names: readonly string[]): void {
    this.#allowed.set(secret, names);
  }

  delete({ secret }: FakeKey): void {
    this.#keys.delete(secret);
  }

  service() {
    const unused = async (): Promise<never> => {
      throw new ServiceError("internal_error", "not part of this fake");
    };
    return implement(KeysService, {
      createAccount: unused,
      listAccounts: unused,
      getAccount: unused,
      renameAccount: unused,
      updateAccount: unused,
      mintKey: unused,
      listKeys: unused,
      getKey: unused,
      deleteKey: unused,
      rotateKey: unused,
      updateKey: unused,
      issueWebToken: unused,
      verifyKey: async ({ secret }) => {
        this.lookUps += 1;
        if (this.broken) throw new Error("the database password is wrong");
        const key = this.#keys.get(secret);
        if (key === undefined) throw new ServiceError("invalid_api_key", "No such key in the table.");
        if (key.expiresAt !== undefined && key.expiresAt <= Date.now()) {
          const when = new Date(Number(key.expiresAt)).toISOString();
          const what = key.kind === KeyKind.WEB_TOKEN ? "web token" : "API key";
          throw new ServiceError("api_key_expired", `This ${what} expired at ${when}.`);
        }
        const { keyId, accountId, kind, expiresAt } = key;
        const names = this.#allowed.get(secret);
        return {
          key: {
            keyId,
            accountId,
            kind,
            active: true,
            name: "fake",
            ...(expiresAt === undefined ? {} : { expiresAt }),
            ...(names === undefined ? {} : { allowedModels: { names: [...names] } }),
          },
        };
      },
    });
  }
}
