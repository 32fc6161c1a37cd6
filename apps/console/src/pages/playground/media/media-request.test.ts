// Guarantees of a media request: it has the chosen values that the model accepts, and names the others.
import { expect, test } from "@jest/globals";
import { EDIT, IMAGE, TEXT, VIDEO } from "../../../test/sample-models.ts";
import { EMPTY_MEDIA, NO_PICTURES } from "../drafts.ts";
import { bodyOf, mediaRequest, servesTab, tabOf, unusedBy } from "./media-request.ts";

const draft = { ...EMPTY_MEDIA, prompt: "a kite", size: "1280x720", n: 3, seconds: "8", audio: true };

test("a value that the model would choose by itself is not sent", () => {
  expect(bodyOf(IMAGE, { ...EMPTY_MEDIA, prompt: "a kite" })).toEqual({
    model: "acme/image",
    prompt: "a kite",
  });
});

test("values of another model stay in the draft, are not sent, and are named", () => {
  expect(bodyOf(IMAGE, draft)).toEqual({ model: "acme/image", prompt: "a kite", size: "1280x720", n: 3 });
  expect(unusedBy(IMAGE, draft)).toEqual(["Length", "Sound"]);
  expect(bodyOf(VIDEO, draft)).toEqual({ model: "acme/video", prompt: "a kite", seconds: 8, audio: true });
  expect(unusedBy(VIDEO, draft)).toEqual(["Size", "Number of images"]);
});

test("pictures and their mask make a form at the path of edits", () => {
  const picture = new File(["p"], "cup.png", { type: "image/png" });
  const pictures = { files: [picture], strokes: [], mask: new Blob(["m"]) };
  const { path, files } = mediaRequest(EDIT, draft, pictures);
  expect(path).toBe("/v1/compat/images/edits");
  expect(files.map(({ field, name }) => [field, name])).toEqual([
    ["image[]", "cup.png"],
    ["mask", "mask.png"],
  ]);
  expect(mediaRequest(IMAGE, draft, pictures).files).toEqual([]);
});

test("a video does not wait for its end", () => {
  expect(mediaRequest(VIDEO, draft, NO_PICTURES).isAsync).toBe(true);
  expect(mediaRequest(IMAGE, draft, NO_PICTURES).isAsync).toBe(false);
});

test("a tab has the models that can do its work", () => {
  const served = (tab: "image" | "edit" | "video") =>
    [IMAGE, EDIT, VIDEO, TEXT].filter((model) => servesTab(model, tab)).map(({ name }) => name);
  expect(served("image")).toEqual(["Acme Image"]);
  expect(served("edit")).toEqual(["Acme Edit"]);
  expect(served("video")).toEqual(["Acme Video"]);
  expect([IMAGE, EDIT, VIDEO].map(tabOf)).toEqual(["image", "edit", "video"]);
});
