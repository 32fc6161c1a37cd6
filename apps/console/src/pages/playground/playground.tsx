// The playground sends real requests: images, edits, videos, text, and one prompt to several models. The address has the
// tab and the model; a link may also fill the form.
import { Card, Skeleton, Stack, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import type { ModelRecord } from "../../api/public-api.ts";
import { changeKept, type KeptPlace } from "../../kept-state.ts";
import { modelsQuery } from "../../models-query.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { later } from "../../parts/later.tsx";
import { Empty, Failure, NotAllowed } from "../../parts/lists/page-states.tsx";
import { useAccount } from "../../session.ts";
import {
  MEDIA_TABS,
  type MediaDraft,
  type MediaTabName,
  mediaPlace,
  TABS,
  type TabName,
  textPlace,
  useFields,
  useKeptScope,
} from "./drafts.ts";
import { tabOf } from "./media/media-request.ts";

/** Heights of the head and of the columns, in pixels. */
const HEAD = 40;
const COLUMN = 560;

const waiting = (
  <Stack aria-busy="true" aria-label="Loading">
    <Skeleton height={HEAD} />
    <div className="playground-columns">
      {["form", "result", "history"].map((column) => (
        <Skeleton key={column} height={COLUMN} radius="lg" />
      ))}
    </div>
  </Stack>
);
const MediaTab = later(async () => (await import("./media/media-tab.tsx")).MediaTab, waiting);
const TextTab = later(async () => (await import("./text/text-tab.tsx")).TextTab, waiting);
const CompareTab = later(async () => (await import("./compare/compare-tab.tsx")).CompareTab, waiting);

export function Playground() {
  const { may } = useAccount();
  const { data, error, refetch } = useQuery(modelsQuery);
  const state = !may("developer") ? (
    <NotAllowed least="developer" />
  ) : error !== null && data === undefined ? (
    <Failure error={error} retry={() => void refetch()} />
  ) : data?.length === 0 ? (
    <Card>
      <Empty title="No model is available yet">
        The operator of this router adds providers and their models.
      </Empty>
    </Card>
  ) : undefined;
  if (state === undefined) return data === undefined ? waiting : <OpenPlayground models={data} />;
  return (
    <Stack>
      <Title order={1} size="h2">
        Playground
      </Title>
      {state}
    </Stack>
  );
}

interface LastTab {
  readonly tab: string;
}
const lastTabPlace = (scope: string): KeptPlace<LastTab> => ({
  key: `${scope}.tab`,
  initial: { tab: "" },
  parse: (stored) => ({ tab: String((stored as Partial<LastTab> | null)?.tab ?? "") }),
});

const isTab = (name: string | undefined): name is TabName => TABS.some((tab) => tab === name);
const isMediaTab = (tab: TabName): tab is MediaTabName => MEDIA_TABS.some((each) => each === tab);

function OpenPlayground({ models }: { models: readonly ModelRecord[] }) {
  const scope = useKeptScope();
  const { tab: named, model: modelId, ...filling } = useSearch({ from: "/accounts/$account/playground" });
  const [last, keepLast] = useFields(lastTabPlace(scope));
  const wanted = models.find(({ id }) => id === modelId);
  const usual = isTab(last.tab) ? last.tab : models.some(({ type }) => type === "image") ? "image" : "text";
  const tab = isTab(named)
    ? named
    : wanted === undefined
      ? usual
      : wanted.type === "text"
        ? "text"
        : tabOf(wanted);
  useFilledDraft(scope, tab, wanted, filling);
  useEffect(() => {
    if (last.tab !== tab) keepLast({ tab });
  });
  if (tab === "text") return <TextTab models={models} />;
  if (tab === "compare") return <CompareTab models={models} />;
  return <MediaTab key={tab} tab={tab} models={models} />;
}

/** Values of a form that a link may have. */
interface Filling {
  readonly prompt?: string;
  readonly size?: string;
  readonly quality?: string;
  readonly seconds?: string;
  readonly n?: string;
}

/** Puts the values of the address into the draft, once, and removes all but tab and model from the address. */
function useFilledDraft(scope: string, tab: TabName, model: ModelRecord | undefined, filling: Filling) {
  const filter = useFilter();
  const { prompt, size, quality, seconds, n } = filling;
  const hasValues = Object.values(filling).some((value) => value !== undefined);
  const modelId = model?.id;
  useEffect(() => {
    if (isMediaTab(tab)) {
      const fields: Partial<MediaDraft> = {
        ...(modelId !== undefined && { model: modelId }),
        ...(prompt !== undefined && { prompt, shown: null }),
        ...(size !== undefined && { size }),
        ...(quality !== undefined && { quality }),
        ...(seconds !== undefined && { seconds }),
        ...(n !== undefined && { n: Math.max(1, Number(n) || 1) }),
      };
      if (Object.keys(fields).length > 0)
        changeKept(mediaPlace(scope, tab), (draft) => ({ ...draft, ...fields }));
    } else if (tab === "text" && (modelId !== undefined || prompt !== undefined)) {
      changeKept(textPlace(scope), (draft) => ({
        ...draft,
        ...(modelId !== undefined && { model: modelId }),
        ...(prompt !== undefined && { text: prompt }),
      }));
    }
    if (hasValues) void filter({ tab, prompt: null, size: null, quality: null, seconds: null, n: null });
  }, [scope, tab, modelId, prompt, size, quality, seconds, n, hasValues]);
}
