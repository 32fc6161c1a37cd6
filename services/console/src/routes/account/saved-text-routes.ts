// Saved text routes show and delete prompts and answers that keys have saved, and their use of the account's room.
import { savedTextJson } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type CallerFacts, type Handlers } from "../../door/console-call.ts";
import { recordAudit } from "../audit.ts";

type SavedTextRoutes = Handlers<
  "readSavedText" | "readSavedTextUse" | "deleteSavedText" | "deleteSavedTextsOfKey" | "deleteSavedTexts"
>;
type Call = CallerFacts & { readonly params: Readonly<Record<string, string>> };

export function savedTextRoutes(deps: ConsoleDeps): SavedTextRoutes {
  const { savedTexts } = deps;
  /** @param subject id of the request or of the key; absent = all of the account */
  const remove = async (call: Call, filter: { requestId?: string; spenderId?: string }, subject?: string) => {
    const { deleted } = await savedTexts.deleteSavedTexts({ accountId: accountOf(call), ...filter });
    const detail = { deleted: String(deleted) };
    await recordAudit(deps, call, {
      ...{ action: "saved_texts.deleted", detail },
      ...(subject !== undefined && { subject }),
    });
    return { deleted: Number(deleted) };
  };
  return {
    readSavedText: async (call) => {
      const found = await savedTexts.findSavedText({ accountId: accountOf(call), requestId: idOf(call) });
      const text = savedTextJson(found) ?? Buffer.from("null");
      const answer = Buffer.concat([Buffer.from('{"text":'), text, Buffer.from("}")]);
      return call.reply.type("application/json; charset=utf-8").send(answer);
    },
    readSavedTextUse: async (call) => {
      const { days, entries, bytes, mostBytes } = await savedTexts.getSavedTextUse({
        accountId: accountOf(call),
      });
      return { days, entries: Number(entries), bytes: Number(bytes), most_bytes: Number(mostBytes) };
    },
    deleteSavedText: (call) => remove(call, { requestId: idOf(call) }, idOf(call)),
    deleteSavedTextsOfKey: (call) => remove(call, { spenderId: idOf(call) }, idOf(call)),
    deleteSavedTexts: (call) => remove(call, {}),
  };
}

/** An empty id would mean all. @throws ServiceError generation_not_found */
function idOf({ params: { id = "" } }: Call): string {
  if (isUuid(id)) return id;
  throw new ServiceError("generation_not_found", "Nothing with this id exists.", { param: "id" });
}
