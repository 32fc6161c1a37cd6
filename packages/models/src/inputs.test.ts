// Guarantees of input images: their number is limited by the model's abilities and its limit.
import { create } from "@bufbuild/protobuf";
import { ModelKind, ModelSchema } from "@gr/proto/catalog";
import { expect, test } from "@jest/globals";
import { acceptedInputs, needsImage } from "./inputs.ts";

test.each([
  [["text-to-image"], 0, { image: 0, mask: 0 }, false],
  [["text-to-image"], 5, { image: 0, mask: 0 }, false],
  [["text-to-image", "image-edit"], 0, { image: 1, mask: 0 }, false],
  [["image-edit", "mask"], 0, { image: 1, mask: 1 }, true],
  [["image-edit", "multi-reference"], 0, { image: 16, mask: 0 }, true],
  [["image-edit", "multi-reference", "mask"], 3, { image: 3, mask: 1 }, true],
  [["image-edit", "multi-reference"], 40, { image: 16, mask: 0 }, true],
  [["image-to-video"], 0, { image: 1, mask: 0 }, true],
  [["text-to-video", "first-last-frame"], 0, { image: 2, mask: 0 }, false],
])("%j with a limit of %i takes %j, needs one: %s", (capabilities, inputImages, accepted, needed) => {
  const model = create(ModelSchema, { kind: ModelKind.IMAGE, capabilities, limits: { inputImages } });
  expect(acceptedInputs(model)).toEqual(accepted);
  expect(needsImage(model)).toBe(needed);
});
