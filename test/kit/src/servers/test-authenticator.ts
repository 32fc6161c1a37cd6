// An authenticator with a passkey for one address, in a server's view. It creates keys, signs challenges, and
// misbehaves in ways that a test selects. https://www.w3.org/TR/webauthn-3/
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";

const SAID = { present: 0x01, verified: 0x04, hasKey: 0x40 };

interface Asked {
  readonly challenge: string;
  readonly user?: { readonly id: string };
}

export interface Misbehaviour {
  /** Origin of another site. */
  readonly origin?: string;
  /** Whether the user was only present, and not recognized. */
  readonly isUnverified?: boolean;
}

export class TestAuthenticator {
  readonly id = randomBytes(16).toString("base64url");
  readonly #keys = generateKeyPairSync("ec", { namedCurve: "P-256" });
  readonly #origin: string;
  #userHandle: string | undefined;
  #counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** @param options of navigator.credentials.create, as JSON */
  create(options: Asked, misbehaviour: Misbehaviour = {}) {
    this.#userHandle = options.user?.id;
    const id = Buffer.from(this.id, "base64url");
    const length = Buffer.from([id.length >> 8, id.length & 0xff]);
    const data = Buffer.concat([
      this.#data(misbehaviour, true),
      Buffer.alloc(16),
      length,
      id,
      this.#publicKey(),
    ]);
    // {"fmt": "none", "attStmt": {}, "authData": …}
    const attestation = Buffer.concat([
      Buffer.from([0xa3]),
      textOf("fmt"),
      textOf("none"),
      textOf("attStmt"),
      Buffer.from([0xa0]),
      textOf("authData"),
      bytesOf(data),
    ]);
    const clientDataJSON = this.#clientData("webauthn.create", options, misbehaviour).toString("base64url");
    const response = {
      clientDataJSON,
      attestationObject: attestation.toString("base64url"),
      transports: ["internal"],
    };
    return this.#answer(response);
  }

  /** @param options of navigator.credentials.get, as JSON */
  get(options: Asked, misbehaviour: Misbehaviour = {}) {
    const client = this.#clientData("webauthn.get", options, misbehaviour);
    const data = this.#data(misbehaviour, false);
    const signed = Buffer.concat([data, createHash("sha256").update(client).digest()]);
    return this.#answer({
      clientDataJSON: client.toString("base64url"),
      authenticatorData: data.toString("base64url"),
      signature: sign("sha256", signed, this.#keys.privateKey).toString("base64url"),
      userHandle: this.#userHandle,
    });
  }

  #answer(response: Readonly<Record<string, unknown>>) {
    return { id: this.id, rawId: this.id, type: "public-key", clientExtensionResults: {}, response };
  }

  #clientData(type: string, { challenge }: Asked, { origin = this.#origin }: Misbehaviour): Buffer {
    return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }));
  }

  #data({ isUnverified = false }: Misbehaviour, hasKey: boolean): Buffer {
    this.#counter += 1;
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.#counter);
    const flags = SAID.present | (isUnverified ? 0 : SAID.verified) | (hasKey ? SAID.hasKey : 0);
    const site = createHash("sha256").update(new URL(this.#origin).hostname).digest();
    return Buffer.concat([site, Buffer.from([flags]), counter]);
  }

  /** {1: 2, 3: -7, -1: 1, -2: x, -3: y}: an elliptic curve key for ES256. */
  #publicKey(): Buffer {
    const { x = "", y = "" } = this.#keys.publicKey.export({ format: "jwk" });
    const [left, right] = [x, y].map((part) => bytesOf(Buffer.from(part, "base64url")));
    const parts = [
      Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
      left,
      Buffer.from([0x22]),
      right,
    ];
    return Buffer.concat(parts.filter((part) => part !== undefined));
  }
}

/** CBOR of a short text. */
function textOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([0x60 + text.length]), Buffer.from(text)]);
}

/** CBOR of 24 to 255 bytes. */
function bytesOf(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x58, bytes.length]), bytes]);
}
