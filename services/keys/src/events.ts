// Key events, each as one function: a counter and a log line. Ids and reasons only, never a secret or hint.
import type { Logger } from "@gr/runtime";
import { Counter, type Registry } from "prom-client";
import type { ApiKey, Unusable } from "./records/key.ts";

/** "malformed": wrong checksum; "unknown": well-formed, but no key of ours; "token": an invalid web token. */
export type RefusalCause = Unusable | "malformed" | "unknown" | "token";

export interface KeyEvents {
  accountCreated(accountId: string): void;
  keyMinted(key: ApiKey): void;
  /** @param fields names of the changed fields. */
  keyUpdated(key: ApiKey, fields: readonly string[]): void;
  keyDeleted(key: ApiKey): void;
  /** A key got another secret. */
  keyRotated(key: ApiKey): void;
  /** A key stored under the other pepper was moved to the current one. */
  keyMoved(): void;
  webTokenIssued(accountId: string, expiresAt: number): void;
  /** @param key the key, when the secret belongs to one. */
  keyRefused(cause: RefusalCause, key?: ApiKey): void;
  /** A request for a new key failed; its client gets no reason. */
  keyNotMinted(accountId: string, error: unknown): void;
  /** An interrupted change or mint was completed. */
  keySettled(key: ApiKey): void;
  /** An interrupted change or mint could not be completed yet. */
  keyUnsettled(keyId: string, error: unknown): void;
}

export function createKeyEvents(log: Logger, metrics: Registry): KeyEvents {
  const registers = [metrics];
  const minted = new Counter({
    name: "keys_minted_total",
    help: "API keys minted, by kind",
    labelNames: ["kind"],
    registers,
  });
  const updated = new Counter({ name: "keys_updated_total", help: "Changes of API keys", registers });
  const issued = new Counter({ name: "keys_web_tokens_issued_total", help: "Web tokens issued", registers });
  const deleted = new Counter({ name: "keys_deleted_total", help: "API keys deleted", registers });
  const moved = new Counter({
    name: "keys_moved_total",
    help: "Keys that were found under KEY_PEPPER_OTHER, and are stored under KEY_PEPPER since",
    registers,
  });
  const refused = new Counter({
    name: "keys_refused_total",
    help: "Secrets refused, by cause",
    labelNames: ["cause"],
    registers,
  });
  return {
    accountCreated: (accountId) => log.info({ accountId }, "account created"),
    keyMinted: ({ id, accountId, kind }) => {
      minted.inc({ kind });
      log.info({ keyId: id, accountId, kind }, "key minted");
    },
    keyUpdated: ({ id, accountId }, fields) => {
      updated.inc();
      log.info({ keyId: id, accountId, fields }, "key changed");
    },
    webTokenIssued: (accountId, expiresAt) => {
      issued.inc();
      log.info({ accountId, expiresAt }, "web token issued");
    },
    keyDeleted: ({ id, accountId }) => {
      deleted.inc();
      log.info({ keyId: id, accountId }, "key deleted");
    },
    keyRotated: ({ id, accountId }) => {
      updated.inc();
      log.info({ keyId: id, accountId }, "secret of a key replaced");
    },
    keyMoved: () => moved.inc(),
    keyRefused: (cause, key) => {
      refused.inc({ cause });
      log.debug({ cause, keyId: key?.id, accountId: key?.accountId }, "key refused");
    },
    keyNotMinted: (accountId, error) => log.error({ accountId, err: error }, "a key could not be minted"),
    keySettled: ({ id, accountId }) =>
      log.warn({ keyId: id, accountId }, "an interrupted change of a key is completed"),
    keyUnsettled: (keyId, error) =>
      log.error({ keyId, err: error }, "an interrupted change of a key is not completed yet"),
  };
}
