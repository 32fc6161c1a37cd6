// Errors of billing about times name the fields of the log.
import { ServiceError } from "@gr/proto";
import { expect, test } from "@jest/globals";
import { type ReadLogDeps, type RequestFilter, readLog, sumLog } from "./read-log.ts";

const ALL: RequestFilter = {
  ...{ kind: "text", model: undefined, provider: undefined, keyIds: undefined },
  ...{ status: "failed", createdAfter: undefined, createdBefore: undefined },
};
const OWNER = { accountId: "00000000-0000-4000-8000-000000000001" };

function depsThatRefuse(param: string): ReadLogDeps {
  const refuse = async () => {
    throw new ServiceError("invalid_value", `Wrong (field "${param}").`, { param });
  };
  const texts = { listTexts: refuse, sumTexts: refuse, findText: refuse };
  return { generationLog: { list: refuse, find: refuse, sum: refuse }, texts, publicBaseUrl: "" };
}

test.each([
  ["began_before", "created_before"],
  ["began_after", "created_after"],
  ["model", "model"],
])("%s of billing is %s of the log", async (param, named) => {
  const error = { reason: "invalid_value", param: named, message: `Wrong (field "${named}").` };
  const deps = depsThatRefuse(param);
  await expect(readLog(deps, OWNER, ALL, undefined)).rejects.toMatchObject(error);
  await expect(sumLog(deps, OWNER, ALL, undefined)).rejects.toMatchObject(error);
});
