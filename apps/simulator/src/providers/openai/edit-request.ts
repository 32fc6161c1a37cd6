// Reads the form of `POST /images/edits`: the fields of an image request as texts, and the input pictures. It accepts
// the same pictures and masks as OpenAI, with the same strictness.
import { Refusal } from "../../request/refusal.ts";
import { missing } from "../../request/request-fields.ts";
import { type InputImage, type OpenAiImageRequest, readImageRequest } from "./image-request.ts";

type FormValue = NonNullable<ReturnType<FormData["get"]>>;

const MOST_IMAGES = 16;
const LARGEST_IMAGE = 50 * 1024 * 1024;
const LARGEST_MASK = 4 * 1024 * 1024;
const FORMATS: ReadonlySet<string> = new Set(["png", "jpeg", "webp"]);
const FILES: ReadonlySet<string> = new Set(["image", "image[]", "mask"]);
const INTEGERS: ReadonlySet<string> = new Set(["n", "output_compression", "partial_images"]);

/** Throws a `Refusal`. */
export async function readEditRequest(contentType: string, body: Buffer): Promise<OpenAiImageRequest> {
  const form = await parseForm(contentType, body);
  const fields: Record<string, unknown> = {};
  for (const [name, value] of form) {
    if (typeof value === "string" && !FILES.has(name)) fields[name] = fieldOf(name, value);
  }
  const request = readImageRequest(fields, ["input_fidelity"]);
  if (!request.model.edits) {
    throw new Refusal(
      "invalid",
      `Invalid value: '${request.model.id}'. Value must be a model that edits images.`,
      "model",
      "invalid_value",
    );
  }
  const files = [...form.getAll("image"), ...form.getAll("image[]")];
  if (files.length === 0) throw missing("image");
  if (files.length > MOST_IMAGES) {
    throw new Refusal(
      "invalid",
      `Invalid 'image': array too long. Expected an array with maximum length ${MOST_IMAGES}, but got an array with length ${files.length} instead.`,
      "image",
      "array_above_max_length",
    );
  }
  const inputs: InputImage[] = [];
  for (const file of files) inputs.push(await readPicture("image", file, LARGEST_IMAGE));
  const mask = form.get("mask");
  return { ...request, inputs, mask: mask === null ? undefined : await readMask(mask, inputs) };
}

async function parseForm(contentType: string, body: Buffer): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
  } catch {
    throw new Refusal("invalid", "Could not parse multipart form.");
  }
}

/** A form has texts only. */
function fieldOf(name: string, text: string): unknown {
  if (INTEGERS.has(name) && /^-?\d{1,9}$/.test(text)) return Number(text);
  return name === "stream" && (text === "true" || text === "false") ? text === "true" : text;
}

async function readPicture(param: string, value: FormValue, largest: number): Promise<InputImage> {
  if (typeof value === "string") {
    throw new Refusal("invalid", `Invalid type for '${param}': expected a file.`, param, "invalid_type");
  }
  if (value.size > largest) {
    const message = `Invalid '${param}': the file is larger than ${largest / (1024 * 1024)} MB.`;
    throw new Refusal("invalid", message, param, "file_too_large");
  }
  if (!["image/png", "image/jpeg", "image/webp"].includes(value.type)) {
    throw new Refusal(
      "invalid",
      `Invalid file '${param}': unsupported mimetype ('${value.type}'). Supported file formats are 'image/jpeg', 'image/png', and 'image/webp'.`,
      param,
      "unsupported_file_mimetype",
    );
  }
  const bytes = Buffer.from(await value.arrayBuffer());
  const { default: sharp } = await import("sharp");
  const { format, width, height, hasAlpha } = await sharp(bytes)
    .metadata()
    .catch(() => ({ format: "none", width: 0, height: 0, hasAlpha: false }));
  if (FORMATS.has(format)) return { bytes, width, height, format, hasAlpha };
  throw new Refusal(
    "invalid",
    "Invalid image file or mode for image 1, please check your image file.",
    param,
    "invalid_image_file",
  );
}

async function readMask(value: FormValue, [first]: readonly InputImage[]): Promise<InputImage> {
  const mask = await readPicture("mask", value, LARGEST_MASK);
  if (mask.format !== "png" || !mask.hasAlpha) throw badMask("mask image missing alpha channel");
  if (mask.width !== first?.width || mask.height !== first.height) {
    throw badMask("mask size does not match image size");
  }
  return mask;
}

function badMask(why: string): Refusal {
  return new Refusal("invalid", `Invalid mask image format - ${why}`, "mask", "invalid_mask_image_format");
}
