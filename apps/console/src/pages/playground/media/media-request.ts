// A media request is the request of a form of the playground: which models a tab has, and the fields, files and path
// that are sent. Sending, quote and code all use this one request.
import type { ApiRequest, ModelRecord } from "../../../api/public-api.ts";
import { pathOf } from "../../../api/request-paths.ts";
import { AUTO, type MediaDraft, type MediaTabName, type Pictures } from "../drafts.ts";

const FROM_WORDS = ["text-to-image", "text-to-video"];

/** Input images of a request, if the model names no limit. */
export const MOST_PICTURES = 16;

export const accepts = (model: ModelRecord, parameter: string) =>
  model.supported_parameters.includes(parameter);

/** Returns true if each request of the model needs an input image. */
export const needsPicture = ({ capabilities }: ModelRecord) =>
  !capabilities.some((each) => FROM_WORDS.includes(each));

export function servesTab(model: ModelRecord, tab: MediaTabName): boolean {
  if (tab === "video") return model.type === "video";
  if (model.type !== "image") return false;
  return tab === "edit" ? accepts(model, "image") : !needsPicture(model);
}

/** Returns the tab in which a model of images or videos is usually used. */
export function tabOf(model: ModelRecord): MediaTabName {
  if (model.type === "video") return "video";
  return needsPicture(model) ? "edit" : "image";
}

interface Choice {
  readonly name: "size" | "quality" | "seconds" | "format";
  readonly label: string;
  readonly values: readonly string[];
  /** Meaning of auto. */
  readonly usual: string | number | null;
}

/** Returns the choices that a model offers; a choice without values is not shown. */
export function choicesOf(model: ModelRecord): Choice[] {
  const { sizes, qualities, seconds, default: usual } = model;
  const formats = accepts(model, "output_format") ? ["webp", "png", "jpeg"] : [];
  const choices: Choice[] = [
    { name: "size", label: "Size", values: sizes, usual: usual.size },
    { name: "quality", label: "Quality", values: qualities, usual: usual.quality },
    { name: "seconds", label: "Length", values: seconds.map(String), usual: usual.seconds },
    { name: "format", label: "File format", values: formats, usual: "webp" },
  ];
  return choices.filter(({ values }) => values.length > 0);
}

/** Returns the fields of the request, without values that the model chooses by itself or does not accept. */
export function bodyOf(model: ModelRecord, draft: MediaDraft): Record<string, unknown> {
  const { prompt, n, audio } = draft;
  const chosen = (name: Choice["name"]) => {
    const isOffered = choicesOf(model).some(
      (each) => each.name === name && each.values.includes(draft[name]),
    );
    return isOffered ? draft[name] : undefined;
  };
  const [size, quality, seconds, format] = [
    chosen("size"),
    chosen("quality"),
    chosen("seconds"),
    chosen("format"),
  ];
  return {
    model: model.id,
    ...(prompt !== "" && { prompt }),
    ...(size !== undefined && { size }),
    ...(quality !== undefined && { quality }),
    ...(seconds !== undefined && { seconds: Number(seconds) }),
    ...(n > 1 && accepts(model, "n") && { n }),
    ...(audio && accepts(model, "audio") && { audio }),
    ...(format !== undefined && { output_format: format }),
  };
}

/** Returns the names of chosen values that this model does not accept. They stay in the draft for other models. */
export function unusedBy(model: ModelRecord, draft: MediaDraft): string[] {
  const body = bodyOf(model, draft);
  const chosen = [
    ["Size", draft.size !== AUTO, "size"],
    ["Quality", draft.quality !== AUTO, "quality"],
    ["Length", draft.seconds !== AUTO, "seconds"],
    ["Number of images", draft.n > 1, "n"],
    ["Sound", draft.audio, "audio"],
    ["File format", draft.format !== AUTO, "output_format"],
  ] as const;
  return chosen.filter(([, isChosen, field]) => isChosen && !(field in body)).map(([label]) => label);
}

export function mediaRequest(model: ModelRecord, draft: MediaDraft, { files, mask }: Pictures): ApiRequest {
  const { type } = model;
  const pictures = accepts(model, "image") ? files : [];
  const sent = pictures.map((file) => ({ field: "image[]", name: file.name, content: file as Blob }));
  if (mask !== undefined && sent.length > 0 && accepts(model, "mask")) {
    sent.push({ field: "mask", name: "mask.png", content: mask });
  }
  return {
    type,
    path: pathOf(type, sent.length > 0),
    body: bodyOf(model, draft),
    files: sent,
    isAsync: type === "video",
  };
}
