// Checks the number of pictures in an answer against the number that its job requested.
import type { ReportedUsage } from "./provider.ts";
import { ProviderError } from "./provider-error.ts";

/**
 * Returns the pictures to deliver. A smaller number than requested is delivered: the provider bills those pictures,
 * and the account is charged for the same number.
 * @param name of the provider
 * @param pictures undefined if the answer has no list of them
 * @param reported usage and bill that the provider reports
 * @throws ProviderError failed, if there is no picture, or more than requested
 */
export function deliveredPictures<Picture>(
  name: string,
  pictures: readonly Picture[] | undefined,
  wanted: number,
  { usage }: { readonly usage?: ReportedUsage | undefined } = {},
): readonly Picture[] {
  if (pictures === undefined) {
    throw failed(`${name}: the answer is not a list of pictures`, usage);
  }
  const delivered = pictures.length;
  if (delivered > 0 && delivered <= wanted) return pictures;
  throw failed(`${name}: ${delivered} pictures instead of ${wanted}`, usage && { ...usage, delivered });
}

function failed(message: string, usage: ReportedUsage | undefined): ProviderError {
  return new ProviderError("failed", message, { accepted: true, ...(usage === undefined ? {} : { usage }) });
}
