// Reuse turns a result into the input of a next request: of an edit, or of a video.
import { useNavigate } from "@tanstack/react-router";
import type { ModelRecord } from "../../../api/public-api.ts";
import { changeKept, readKept } from "../../../kept-state.ts";
import { showRefusal } from "../../../parts/forms/act.ts";
import { fetchMedia } from "../../../parts/media/save-media.ts";
import { useAccount } from "../../../session.ts";
import { mediaPlace, NO_PICTURES, picturesPlace, useKeptScope } from "../drafts.ts";
import { accepts, servesTab } from "./media-request.ts";

export interface Reuse {
  /** Undefined: no model can do it. */
  readonly edit: ((url: string) => void) | undefined;
  readonly animate: ((url: string) => void) | undefined;
}

/** Returns the ways in which a result becomes the input of a next request. */
export function useReuse(models: readonly ModelRecord[]): Reuse {
  const scope = useKeptScope();
  const { account_id: account } = useAccount();
  const navigate = useNavigate();
  const open = async (tab: "edit" | "video", able: readonly ModelRecord[], url: string) => {
    const file = await fetchMedia(url, "result");
    changeKept(picturesPlace(scope, tab), () => ({ ...NO_PICTURES, files: [file] }));
    const place = mediaPlace(scope, tab);
    const { model } = readKept(place);
    if (!able.some(({ id }) => id === model)) {
      changeKept(place, (draft) => ({ ...draft, model: able[0]?.id ?? null }));
    }
    await navigate({ to: "/accounts/$account/playground", params: { account }, search: { tab } });
  };
  const wayTo = (tab: "edit" | "video") => {
    const able = models.filter((model) => servesTab(model, tab) && accepts(model, "image"));
    return able.length === 0 ? undefined : (url: string) => void open(tab, able, url).catch(showRefusal);
  };
  return { edit: wayTo("edit"), animate: wayTo("video") };
}
