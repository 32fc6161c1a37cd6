// Hashes passwords one at a time in a process. Each hash occupies a thread and a core for about a tenth of a second, and pictures
// and files need the same threads: sign-ins from many networks would stop them otherwise.
import { FairGate } from "@gr/runtime";
import { hashPassword, verifyPassword } from "better-auth/crypto";

/** Hashes that wait; the last one does so for some seconds. */
const MOST_WAITING = 64;
/** Who signs in is not known before the hash. */
const EVERYBODY = { owner: "everybody" };

interface Algorithm {
  hashPassword(password: string): Promise<string>;
  verifyPassword(given: { readonly hash: string; readonly password: string }): Promise<boolean>;
}

const SCRYPT: Algorithm = {
  hashPassword,
  verifyPassword: ({ hash, password }) => verifyPassword({ hash, password }),
};

export interface PasswordHashing {
  /** @throws ServiceError service_unavailable when too many wait */
  hash(password: string): Promise<string>;
  /** @throws ServiceError service_unavailable when too many wait */
  verify(given: { readonly hash: string; readonly password: string }): Promise<boolean>;
}

export function createPasswordHashing(algorithm = SCRYPT): PasswordHashing {
  const gate = new FairGate({
    places: 1,
    perOwner: 1,
    waitingPerOwner: Number.POSITIVE_INFINITY,
    waiting: MOST_WAITING,
    name: "checks of passwords",
  });
  return {
    hash: (password) => gate.run(EVERYBODY, () => algorithm.hashPassword(password)),
    verify: (given) => gate.run(EVERYBODY, () => algorithm.verifyPassword(given)),
  };
}
