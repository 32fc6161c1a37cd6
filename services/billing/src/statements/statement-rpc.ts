// StatementService: pages of a sealed month, with the signature of the operator over the hash of its seal. The signed text names its use,
// so no other signature of the key is one of a statement.
import { createPublicKey, type KeyObject, sign } from "node:crypto";
import { StatementService } from "@gr/proto/billing";
import { implement, LONGEST_PAGE, type Pool, type RpcService } from "@gr/runtime";
import { bucketOf } from "../chain/bucket.ts";
import { invalid, uuid } from "../rpc/field-rules.ts";
import { reaching } from "../writer/ledger-error.ts";
import { listLines, readSealedMonth } from "./statement-store.ts";

const MONTH = /^(\d{4})-(0[1-9]|1[0-2])$/;

/** @param key of the operator; undefined: statements are not signed */
export function statementRpc(pool: Pool, key: KeyObject | undefined): RpcService {
  const publicKey =
    key === undefined ? "" : createPublicKey(key).export({ format: "der", type: "spki" }).toString("base64");
  return implement(StatementService, {
    async readStatement({ accountId: id, month, after }) {
      const accountId = uuid("account_id", id);
      const chain = { accountId, bucket: bucketOf(accountId) };
      const endsAt = endOf(month);
      if (after < 0n) throw invalid("after", "It must be the number of a step, or 0");
      const sealed = await reaching(readSealedMonth(pool, chain, endsAt));
      if (sealed === undefined) throw noSeal(month);
      const { text: seal, hash, firstSeq, lastSeq } = sealed;
      const from = after < firstSeq ? firstSeq - 1n : after;
      const last = from + BigInt(LONGEST_PAGE) < lastSeq ? from + BigInt(LONGEST_PAGE) : lastSeq;
      const lines = await reaching(listLines(pool, chain, from, last));
      const signature =
        key === undefined ? "" : sign(null, Buffer.from(`statement ${hash}`), key).toString("base64");
      return { seal, hash, signature, publicKey, lines, hasMore: last < lastSeq };
    },
  });
}

/** @returns Unix milliseconds @throws ServiceError invalid_value unless the text is a month as YYYY-MM */
function endOf(month: string): number {
  const [, year, number] = MONTH.exec(month) ?? [];
  if (year === undefined || number === undefined) throw invalid("month", "It must be a month as YYYY-MM");
  return Date.UTC(Number(year), Number(number), 1);
}

function noSeal(month: string) {
  return invalid(
    "month",
    `The account has no seal of ${month}. A month is sealed a day after its end, if the account changed in it`,
  );
}
