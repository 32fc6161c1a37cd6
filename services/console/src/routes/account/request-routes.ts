// Request routes serve the account's log: requests of media generation and billing as one list, one request with the
// explanation of its charge, and the removal of its files.
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type ConsoleCall, type Handlers } from "../../door/console-call.ts";
import { generationRecord, mediaSource } from "../../requests/media-records.ts";
import { readMerged } from "../../requests/merged-page.ts";
import { invalidAfter, pageLimit } from "../../requests/pages.ts";
import { priceOfGeneration, priceOfText } from "../../requests/price-of-request.ts";
import { requestFilter } from "../../requests/request-filter.ts";
import { textRecord, textSource } from "../../requests/text-records.ts";
import { recordAudit } from "../audit.ts";

export function requestRoutes(deps: ConsoleDeps): Handlers<"listRequests" | "readRequest" | "removeMedia"> {
  const { media, texts } = deps;
  return {
    listRequests: async (call) => {
      const filter = requestFilter(accountOf(call), call.query);
      const empty = async () => ({ entries: [], hasMore: false });
      const sources = [mediaSource(media, filter) ?? empty, textSource(texts, filter) ?? empty];
      const { entries, next } = await readMerged(sources, call.query.after, pageLimit(call.query)).catch(
        (error: unknown) => {
          throw error instanceof ServiceError && error.param === "after" ? invalidAfter() : error;
        },
      );
      return { data: entries.map(({ record }) => record), next };
    },
    readRequest: (call) => readRequest(deps, call),
    removeMedia: async (call) => {
      const id = idOf(call);
      const { givenUp } = await media.removeGeneration({ accountId: accountOf(call), id });
      await recordAudit(deps, call, { action: "media.removed", subject: id });
      return { is_given_up: givenUp };
    },
  };
}

async function readRequest({ media, texts, catalogOperator }: ConsoleDeps, call: ConsoleCall<"readRequest">) {
  const [accountId, id] = [accountOf(call), idOf(call)];
  // The price is optional: the answer explains more with it, and is true without it.
  const priceOf = async (version: string) =>
    (await catalogOperator.getPriceVersion({ version }).catch(() => undefined))?.price;
  const { generation } = await media.findGeneration({ accountId, id });
  if (generation !== undefined) {
    const price = priceOfGeneration(generation, await priceOf(generation.priceVersion));
    return { request: generationRecord(generation, accountId), price };
  }
  const { text } = await texts.findText({ accountId, requestId: id });
  if (text === undefined) throw unknown();
  return { request: textRecord(text, accountId), price: priceOfText(text, await priceOf(text.priceVersion)) };
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
