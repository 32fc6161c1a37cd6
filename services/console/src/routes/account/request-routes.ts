// Request routes serve the account's log: pages of requests of all kinds, one request with the explanation of its charge, and
// the removal of its files. Media generation owns the log.
import { explainedRecord, GENERATION_KIND, GENERATION_STATUS, requestRecord } from "@gr/clients";
import type { QueryOf } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers } from "../../door/console-call.ts";
import { DAY_MS, startOfDay } from "../../requests/days.ts";
import { invalidAfter, pageLimit } from "../../requests/pages.ts";
import { spenderOf } from "../../requests/spenders.ts";
import { recordAudit } from "../audit.ts";

type Query = QueryOf<"listRequests">;

export function requestRoutes(deps: ConsoleDeps): Handlers<"listRequests" | "readRequest" | "removeMedia"> {
  const { media, catalogOperator } = deps;
  return {
    listRequests: async (call) => {
      const { generations, hasMore } = await media.listGenerations(listRequest(call));
      return {
        data: generations.map(requestRecord),
        next: hasMore ? (generations.at(-1)?.id ?? null) : null,
      };
    },
    readRequest: async (call) => {
      const found = await media.findGeneration({ accountId: accountOf(call), id: idOf(call), texts: true });
      if (found.generation === undefined) throw unknown();
      return explainedRecord(found.generation, catalogOperator);
    },
    removeMedia: async (call) => {
      const id = idOf(call);
      const { givenUp } = await media.removeGeneration({ accountId: accountOf(call), id });
      await recordAudit(deps, call, { action: "media.removed", subject: id });
      return { is_given_up: givenUp };
    },
  };
}

/** @throws ServiceError invalid_value */
function listRequest(call: ConsoleCall<"listRequests">) {
  const accountId = accountOf(call);
  const { kind, model, status, key_id: keyId, after } = call.query;
  if (after !== undefined && !isUuid(after)) throw invalidAfter();
  return {
    ...{ accountId, limit: pageLimit(call.query), texts: kind === undefined },
    ...(kind === undefined || kind === "media" ? {} : { kind: GENERATION_KIND[kind] }),
    ...(status === undefined ? {} : { status: GENERATION_STATUS[status] }),
    ...(model === undefined ? {} : { model }),
    ...(keyId === undefined ? {} : { keyId: spenderOf(keyId, accountId) }),
    ...(after === undefined ? {} : { after }),
    ...timesOf(call.query),
  };
}

/** Days are whole days in UTC; other values are moments. */
function timesOf({ from, to }: Pick<Query, "from" | "to">) {
  const isDay = (value: string) => !value.includes("T");
  const later = (value: string) => (isDay(value) ? startOfDay("from", value) - 1 : Date.parse(value));
  const earlier = (value: string) => (isDay(value) ? startOfDay("to", value) + DAY_MS : Date.parse(value));
  return {
    ...(from === undefined ? {} : { createdAfter: BigInt(later(from)) }),
    ...(to === undefined ? {} : { createdBefore: BigInt(earlier(to)) }),
  };
}

/** @throws ServiceError generation_not_found */
function idOf({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }): string {
  if (!isUuid(id)) throw unknown();
  return id.toLowerCase();
}

function unknown(): ServiceError {
  const message = "The account has no request with this id.";
  return new ServiceError("generation_not_found", message, { param: "id" });
}
