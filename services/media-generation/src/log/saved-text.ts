// Saved prompts and answers belong to billing. This file reads and deletes them for the owner of their request.
import { savedTextJson } from "@gr/clients";
import type { TextLogService } from "@gr/proto/billing";
import type { SavedTextService } from "@gr/proto/saved-texts";
import { isUuid, type ServiceClient } from "@gr/runtime";
import { refuseUnknown } from "./log-query.ts";
import type { LogOwner } from "./log-store.ts";
import { spenderOf } from "./read-log.ts";

export interface SavedTextDeps {
  readonly texts: Pick<ServiceClient<typeof TextLogService>, "findText">;
  readonly savedTexts: Pick<ServiceClient<typeof SavedTextService>, "findSavedText" | "deleteSavedTexts">;
}

/** @returns the JSON of its record. @throws ServiceError generation_not_found if the owner has no such request, or if nothing of it is saved */
export async function readSavedText(
  { savedTexts }: SavedTextDeps,
  owner: LogOwner,
  asked: string,
): Promise<Buffer> {
  if (!isUuid(asked)) return refuseUnknown();
  const found = await savedTexts.findSavedText({ ...spenderOf(owner), requestId: asked });
  return savedTextJson(found) ?? refuseUnknown();
}

/** Deletes prompt and answer. @returns false if the owner has no text request with this id */
export async function removeSavedText(
  { texts, savedTexts }: SavedTextDeps,
  owner: LogOwner,
  asked: string,
): Promise<boolean> {
  if (!isUuid(asked)) return false;
  const request = { ...spenderOf(owner), requestId: asked };
  const { text } = await texts.findText(request);
  if (text === undefined) return false;
  await savedTexts.deleteSavedTexts(request);
  return true;
}
