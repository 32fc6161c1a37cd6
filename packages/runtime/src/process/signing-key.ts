// Signing key reads an Ed25519 key from a setting. No error has a part of the key.
import { createPrivateKey, type KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";

/** The lines of a PEM around its base64, and line ends, also in the escaped form of some env files. */
const ARMOUR = /-----[A-Z ]+-----|\\n|\s/g;

/** Converts the text of an Ed25519 key as PKCS#8 for zod: PEM, or the base64 between its first and last line. */
export function toSigningKey(text: string, context: z.RefinementCtx): KeyObject {
  const key = ed25519Key(text);
  if (key !== undefined) return key;
  const message = "must be an Ed25519 private key as PKCS#8, in PEM or its base64";
  context.issues.push({ code: "custom", message, input: undefined });
  return z.NEVER;
}

/** Reads the same from a file, whose path is no secret. */
export function toSigningKeyOfFile(path: string, context: z.RefinementCtx): KeyObject {
  const key = ed25519Key(textOf(path));
  if (key !== undefined) return key;
  const message = "must be the path of a readable file with an Ed25519 private key as PKCS#8 in PEM";
  context.issues.push({ code: "custom", message, input: undefined });
  return z.NEVER;
}

/** @returns an empty text for a file that cannot be read */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The caller reports the setting by its name.
    return "";
  }
}

function ed25519Key(text: string): KeyObject | undefined {
  const der = Buffer.from(text.replace(ARMOUR, ""), "base64");
  try {
    const key = createPrivateKey({ key: der, format: "der", type: "pkcs8" });
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    // OpenSSL's error is dropped: it may contain parts of the key.
    return undefined;
  }
}
