// How many pictures an answer has, against how many its job asked for.
import type { ReportedUsage } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

/**
 * The pictures to deliver. Fewer than were asked for are delivered all the same: the provider bills them, and the caller
 * is charged for as many.
 *
 * @param name of the provider
 * @param pictures undefined when the answer has no list of them
 * @param reported what the provider says that it used or billed
 * @throws ProviderError failed, when there is none, or more than were asked for
 */
export function madePictures<Picture>(
  name: string,
  pictures: readonly Picture[] | undefined,
  wanted: number,
  { usage }: { readonly usage?: ReportedUsage | undefined } = {},
): readonly Picture[] {
  if (pictures === undefined) {
    throw failed(`${name}: the answer is not a list of pictures`, usage);
  }
  const made = pictures.length;
  if (made > 0 && made <= wanted) return pictures;
  throw failed(`${name}: ${made} pictures instead of ${wanted}`, usage && { ...usage, made });
}

function failed(message: string, usage: ReportedUsage | undefined): ProviderError {
  return new ProviderError("failed", message, { accepted: true, ...(usage === undefined ? {} : { usage }) });
}
