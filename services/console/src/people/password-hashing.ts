// Password hashing runs one hash at a time in a process. Each occupies a thread and a core for about a tenth of a
// second. Pictures and files need the same threads: sign-ins from many networks would stop them otherwise.
import { FairGate } from "@gr/runtime";
import { hashPassword, verifyPassword } from "better-auth/crypto";

/** Waiting hashes; the last one waits for some seconds. */
const MOST_WAITING = 64;
/** The person is unknown before the hash, so all share one queue. */
const EVERYBODY = { owner: "everybody" };

interface Algorithm {
  hashPassword(password: string): Promise<string>;
  verifyPassword(attempt: { readonly hash: string; readonly password: string }): Promise<boolean>;
}

const SCRYPT: Algorithm = {
  hashPassword,
  verifyPassword: ({ hash, password }) => verifyPassword({ hash, password }),
};

export interface PasswordHashing {
  /** @throws ServiceError service_unavailable when too many wait */
  hash(password: string): Promise<string>;
  /** @throws ServiceError service_unavailable when too many wait */
  verify(attempt: { readonly hash: string; readonly password: string }): Promise<boolean>;
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
    verify: (attempt) => gate.run(EVERYBODY, () => algorithm.verifyPassword(attempt)),
  };
}
