// Reads and changes the retention period of an account's media, for operators.
import type { GetMediaRetentionRequest, SetMediaRetentionRequest } from "@gr/proto/media";
import { parseRequest } from "@gr/runtime";
import { z } from "zod";
import { idField } from "../log/log-query.ts";
import { type Days, MOST_DAYS, type RetentionStore } from "./retention-store.ts";

const account = z.object({ account_id: idField("account_id") });
const setting = account.extend({
  days: z
    .number()
    .int()
    .min(0, "It must not be negative")
    .max(MOST_DAYS, `It must be at most ${MOST_DAYS}`)
    .optional(),
});

/** @param byDefault of accounts that have none of their own */
export function retentionCalls(retention: RetentionStore, byDefault: Days) {
  const answer = async (accountId: string) => {
    const own = await retention.daysOf(accountId);
    return { days: own ?? byDefault, own: own !== undefined };
  };
  return {
    getMediaRetention: ({ accountId }: GetMediaRetentionRequest) =>
      answer(parseRequest(account, { account_id: accountId }).account_id),
    async setMediaRetention(request: SetMediaRetentionRequest) {
      const fields = parseRequest(setting, { account_id: request.accountId, days: request.days });
      await retention.setDaysOf(fields.account_id, fields.days);
      return answer(fields.account_id);
    },
  };
}
