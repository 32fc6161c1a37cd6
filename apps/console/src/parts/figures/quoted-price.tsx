// The quoted price is the cost of a playground request before it is sent: the router's own quote of the same body. It
// is requested after a moment without input.
import { Text } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { generate } from "../../api/public-api.ts";

const LEFT_ALONE_MS = 600;
const PLAIN = new Intl.NumberFormat("en-US", {
  useGrouping: false,
  minimumFractionDigits: 2,
  maximumFractionDigits: 4,
});

interface Quote {
  readonly cost: number;
  readonly is_exact: boolean;
}

export interface QuotedPriceProps {
  readonly account: string;
  /** Path of the quoted request. */
  readonly path: string;
  readonly body: object;
  readonly pictures?: readonly File[];
}

export function QuotedPrice({ account, path, body, pictures = [] }: QuotedPriceProps) {
  const files = pictures.map(({ name, size, lastModified }) => [name, size, lastModified]);
  const [asked] = useDebouncedValue(JSON.stringify([path, body, files]), LEFT_ALONE_MS);
  const { data, error } = useQuery({
    queryKey: ["quote", account, asked],
    queryFn: async ({ signal }) => {
      const form = pictures.length === 0 ? body : formOf(body, pictures);
      const response = await generate(account, path.replace("/compat/", "/quote/"), form, signal);
      return (await response.json()) as Quote;
    },
    placeholderData: keepPreviousData,
    retry: false,
  });
  if (error !== null) {
    return (
      <Text size="sm" c="dimmed">
        {error instanceof Error ? error.message : "No price."}
      </Text>
    );
  }
  if (data === undefined) return null;
  return (
    <Text size="sm" role="note">
      {data.is_exact ? "Costs" : "Up to"} ${PLAIN.format(data.cost)}
    </Text>
  );
}

/** Returns the form of the image endpoints, for both the request and its quote. */
export function formOf(body: object, pictures: readonly File[], mask?: Blob): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) form.append(name, String(value));
  for (const picture of pictures) form.append("image[]", picture);
  if (mask !== undefined) form.append("mask", mask, "mask.png");
  return form;
}
