// The tab that sends one prompt to two, three or four models of one kind, and shows their answers side by side.
import {
  ActionIcon,
  Badge,
  Button,
  Card,
  Group,
  Loader,
  SegmentedControl,
  Select,
  Stack,
  Text,
  Textarea,
} from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import type { ApiRequest, ModelRecord } from "../../../api/public-api.ts";
import { useKept } from "../../../kept-state.ts";
import { requestMoneyText, secondsText } from "../../../parts/figures/figure-text.ts";
import { showRefusal } from "../../../parts/forms/act.ts";
import { later } from "../../../parts/later.tsx";
import { Empty } from "../../../parts/lists/page-states.tsx";
import { Media } from "../../../parts/media/media.tsx";
import { saveMedia } from "../../../parts/media/save-media.ts";
import { useAccount } from "../../../session.ts";
import {
  AUTO,
  COMPARED_LEAST,
  COMPARED_MOST,
  type CompareDraft,
  comparePlace,
  EMPTY_MEDIA,
  EMPTY_TEXT,
  NO_PICTURES,
  useFields,
  useKeptScope,
} from "../drafts.ts";
import { mediaRequest, servesTab } from "../media/media-request.ts";
import { useReuse } from "../media/reuse.ts";
import { ModelChoice } from "../model-choice.tsx";
import { PlaygroundHead } from "../playground-head.tsx";
import { quoteText, useQuotes } from "../quote.ts";
import { RunFailure } from "../run-failure.tsx";
import { textRequest } from "../text/text-request.ts";
import { bestOf, type ComparedRun, comparedPlace, compareModels } from "./compared-runs.ts";

const Markdown = later(async () => (await import("../../../parts/markdown.tsx")).Markdown);

const KINDS = [
  { value: "image", label: "Images" },
  { value: "text", label: "Text" },
];

export function CompareTab({ models }: { models: readonly ModelRecord[] }) {
  const scope = useKeptScope();
  const { account_id: account } = useAccount();
  const queries = useQueryClient();
  const [draft, change] = useFields(comparePlace(scope));
  const [runs] = useKept(comparedPlace(scope));
  const isText = draft.kind === "text";
  const served = models.filter((model) => (isText ? model.type === "text" : servesTab(model, "image")));
  const chosen = chosenModels(served, isText ? draft.texts : draft.images);
  const choose = (ids: readonly string[]) => change(isText ? { texts: ids } : { images: ids });
  const requests = chosen.map((model) => requestOf(model, draft));
  const isRunning = runs.some(({ control }) => control !== undefined);
  const isReady = draft.prompt !== "" && chosen.length > 0;
  const quotes = useQuotes(account, requests, isReady);
  const known = quotes.flatMap(({ data }) => (data === undefined ? [] : [data]));
  const isPriced = isReady && known.length === chosen.length;
  const sizes = sharedSizes(chosen);
  const start = () => void compareModels({ scope, account, chosen, requests, queries });
  return (
    <Stack>
      <PlaygroundHead
        tab="compare"
        requests={chosen.map((model, index) => ({
          name: model.name,
          request: requests[index] as ApiRequest,
        }))}
      />
      <Card component="section" aria-label="Request">
        <Group align="flex-end" gap="sm">
          <Stack gap={6}>
            <Text size="sm" fw={500}>
              Compare
            </Text>
            <SegmentedControl
              aria-label="Kind"
              data={KINDS}
              value={draft.kind}
              disabled={isRunning}
              onChange={(kind) => change({ kind })}
            />
          </Stack>
          <Textarea
            label="Prompt"
            flex={1}
            miw={220}
            autosize
            minRows={1}
            maxRows={8}
            value={draft.prompt}
            onChange={({ currentTarget }) => change({ prompt: currentTarget.value })}
          />
          {!isText && sizes.length > 0 && (
            <Select
              label="Size"
              w={140}
              allowDeselect={false}
              data={[AUTO, ...sizes].map((value) => ({ value, label: value === AUTO ? "Auto" : value }))}
              value={sizes.includes(draft.size) ? draft.size : AUTO}
              onChange={(size) => change({ size: size ?? AUTO })}
            />
          )}
          {isRunning ? (
            <Button variant="default" onClick={() => stopAll(runs)}>
              Stop
            </Button>
          ) : (
            <Button disabled={!isReady} onClick={start}>
              Run {chosen.length}
              {isPriced && ` · ${quoteText(known)}`}
            </Button>
          )}
        </Group>
      </Card>
      {chosen.length === 0 ? (
        <Card>
          <Empty title={isText ? "No model here writes text" : "No model here makes images"}>
            The models of this router depend on its providers. Ask its operator.
          </Empty>
        </Card>
      ) : (
        <Columns {...{ models, served, chosen, choose, isRunning }} runs={runs} />
      )}
    </Stack>
  );
}

function stopAll(runs: readonly ComparedRun[]): void {
  for (const { control } of runs) control?.abort();
}

/** Returns the chosen models, filled up with the first others to the least number. */
function chosenModels(served: readonly ModelRecord[], ids: readonly string[]): ModelRecord[] {
  const chosen = ids.flatMap((id) => served.find((model) => model.id === id) ?? []).slice(0, COMPARED_MOST);
  const others = served.filter((model) => !chosen.includes(model));
  return [...chosen, ...others.slice(0, Math.max(0, COMPARED_LEAST - chosen.length))];
}

function requestOf(model: ModelRecord, { prompt, size }: CompareDraft): ApiRequest {
  if (model.type === "text") {
    return textRequest(model, EMPTY_TEXT, [{ id: 1, role: "user", content: prompt }]);
  }
  return mediaRequest(model, { ...EMPTY_MEDIA, prompt, size }, NO_PICTURES);
}

/** Sizes that each of the models accepts. */
function sharedSizes(models: readonly ModelRecord[]): readonly string[] {
  const [first, ...others] = models;
  return (first?.sizes ?? []).filter((size) => others.every(({ sizes }) => sizes.includes(size)));
}

interface ColumnsProps {
  readonly models: readonly ModelRecord[];
  readonly served: readonly ModelRecord[];
  readonly chosen: readonly ModelRecord[];
  readonly choose: (ids: readonly string[]) => void;
  readonly isRunning: boolean;
  readonly runs: readonly ComparedRun[];
}

function Columns({ models, served, chosen, choose, isRunning, runs }: ColumnsProps) {
  const ids = chosen.map(({ id }) => id);
  const next = served.find(({ id }) => !ids.includes(id));
  const best = bestOf(runs.filter(({ model }) => ids.includes(model)));
  return (
    <div className="compared">
      {chosen.map((model, index) => {
        const others = served.filter(({ id }) => id === model.id || !ids.includes(id));
        const run = runs.find((each) => each.model === model.id);
        return (
          <Card key={model.id} component="section" aria-label={model.name} padding="md">
            <Stack>
              <Group align="flex-start" wrap="nowrap" gap="xs">
                <div className="grows">
                  <ModelChoice
                    label={`Model ${index + 1}`}
                    models={others}
                    model={model}
                    choose={(id) => choose(ids.map((each, place) => (place === index ? id : each)))}
                  />
                </div>
                {chosen.length > COMPARED_LEAST && (
                  <ActionIcon
                    variant="subtle"
                    color="gray"
                    aria-label={`Remove ${model.name}`}
                    disabled={isRunning}
                    onClick={() => choose(ids.filter((id) => id !== model.id))}
                  >
                    <IconX size={16} aria-hidden="true" />
                  </ActionIcon>
                )}
              </Group>
              <Compared run={run} models={models} best={best} />
            </Stack>
          </Card>
        );
      })}
      {chosen.length < COMPARED_MOST && next !== undefined && (
        <Button
          variant="default"
          className="add-compared"
          leftSection={<IconPlus size={16} aria-hidden="true" />}
          disabled={isRunning}
          onClick={() => choose([...ids, next.id])}
        >
          Add a model
        </Button>
      )}
    </div>
  );
}

interface ComparedProps {
  readonly run: ComparedRun | undefined;
  readonly models: readonly ModelRecord[];
  readonly best: ReturnType<typeof bestOf>;
}

function Compared({ run, models, best }: ComparedProps) {
  const reuse = useReuse(models);
  if (run === undefined) {
    return (
      <Text size="sm" c="dimmed">
        The answer appears here.
      </Text>
    );
  }
  const { urls = [], text = "", charged, tookMs, error, control } = run;
  return (
    <Stack gap="sm" aria-live="polite">
      {urls.map((url, index) => (
        <Media
          key={url}
          kind="image"
          url={url}
          label={`${run.prompt}, by ${run.model}`}
          controls={index === 0}
        />
      ))}
      {text !== "" && <Markdown text={text} />}
      {control !== undefined && text === "" && <Loader size="sm" aria-label="Working" />}
      {error !== undefined && <RunFailure error={error} />}
      {charged !== undefined && (
        <Group justify="space-between" gap="xs">
          <Text fw={600} className="figures">
            {requestMoneyText(charged)}
          </Text>
          <Group gap={4}>
            {best.cheapest === run.model && <Badge color="green">Lowest cost</Badge>}
            {best.fastest === run.model && <Badge color="blue">Fastest</Badge>}
          </Group>
        </Group>
      )}
      {tookMs !== undefined && (
        <Text size="sm" c="dimmed" className="figures">
          {secondsText(tookMs)}
        </Text>
      )}
      {urls[0] !== undefined && (
        <Group gap="xs">
          {reuse.edit && (
            <Button variant="default" size="xs" onClick={() => reuse.edit?.(urls[0] ?? "")}>
              Edit
            </Button>
          )}
          <Button
            variant="default"
            size="xs"
            onClick={() => void saveMedia(urls[0] ?? "", run.model.replaceAll("/", "-")).catch(showRefusal)}
          >
            Download
          </Button>
        </Group>
      )}
    </Stack>
  );
}
