// The first request of an account as code, which loads after the page around it.
import { Skeleton } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import type { ModelRecord } from "../api/public-api.ts";
import { modelsQuery } from "../models-query.ts";

const Samples = lazy(async () => ({ default: (await import("./forms/samples.tsx")).Samples }));

/** Height of the first request, in pixels: the page below stays in its place. */
const HEIGHT = 224;

interface FirstRequestProps {
  readonly secret?: string;
  /** Returns true for models that the request may name. */
  readonly isAllowed?: (model: ModelRecord) => boolean;
}

/** With a model that this installation serves; a text model, if there is one. */
export function FirstRequest({ secret, isAllowed = () => true }: FirstRequestProps) {
  const { data = [], isPending } = useQuery(modelsQuery);
  const waiting = <Skeleton height={HEIGHT} aria-busy="true" />;
  if (isPending) return waiting;
  const models = data.filter(isAllowed);
  const model = models.find(({ type }) => type === "text") ?? models[0];
  if (model === undefined) return null;
  return (
    <Suspense fallback={waiting}>
      <Samples request={{ type: model.type, body: { model: model.id } }} secret={secret} />
    </Suspense>
  );
}
