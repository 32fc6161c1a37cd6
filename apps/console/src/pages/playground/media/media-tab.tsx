// The tabs for images, edits and videos: the form of the chosen model, the result, and the history.
import { Button, Card, Group, Skeleton, Stack, Text, Textarea } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import type { ModelRecord } from "../../../api/public-api.ts";
import { useKept } from "../../../kept-state.ts";
import { countText } from "../../../parts/figures/figure-text.ts";
import { useFilter } from "../../../parts/filters/use-filter.ts";
import { later } from "../../../parts/later.tsx";
import { Empty } from "../../../parts/lists/page-states.tsx";
import { useAccount } from "../../../session.ts";
import {
  type MediaTabName,
  mediaPlace,
  NO_PICTURES,
  picturesPlace,
  useFields,
  useKeptScope,
} from "../drafts.ts";
import { chosenOf, DraftNote, ModelChoice } from "../model-choice.tsx";
import { PlaygroundHead } from "../playground-head.tsx";
import { quoteText, useQuote } from "../quote.ts";
import { SamplePrompts } from "../sample-prompts.tsx";
import { History } from "./history.tsx";
import { accepts, MOST_PICTURES, mediaRequest, needsPicture, servesTab, unusedBy } from "./media-request.ts";
import { runMedia, runPlace } from "./media-run.ts";
import { ParameterFields } from "./parameter-fields.tsx";
import { PicturePicker } from "./picture-picker.tsx";
import { useReuse } from "./reuse.ts";
import { RunResult } from "./run-result.tsx";

const MaskPainter = later(
  async () => (await import("../../../parts/media/mask-painter.tsx")).MaskPainter,
  <Skeleton height={300} aria-busy="true" />,
);

const USUAL_PROMPT = 20_000;
const VERBS = { image: "Generate", edit: "Edit", video: "Generate video" } as const;
const SAMPLES = {
  image: [
    "A lighthouse on a basalt cliff at dusk, long exposure, sea mist",
    "A perfume bottle of amber glass on wet sand, soft morning light",
    "Isometric map of a small harbour town, paper cut-out style",
  ],
  edit: [
    "Put a rainy window behind it",
    "Make it night, with warm light from the windows",
    "Replace the background by plain grey",
  ],
  video: [
    "Slow dolly shot through a foggy pine forest at dawn",
    "A kite in the wind above dunes, camera follows",
    "Waves break at a lighthouse, seen from above",
  ],
} as const;

export function MediaTab({ tab, models }: { tab: MediaTabName; models: readonly ModelRecord[] }) {
  const scope = useKeptScope();
  const served = models.filter((model) => servesTab(model, tab));
  const [draft] = useFields(mediaPlace(scope, tab));
  const model = chosenOf(served, draft.model);
  if (model === undefined) {
    return (
      <Stack>
        <PlaygroundHead tab={tab} requests={[]} />
        <Card>
          <Empty title={tab === "edit" ? "No model here edits images" : `No model here makes ${tab}s`}>
            The models of this router depend on its providers. Ask its operator.
          </Empty>
        </Card>
      </Stack>
    );
  }
  return <OpenTab tab={tab} models={models} served={served} model={model} />;
}

interface OpenTabProps {
  readonly tab: MediaTabName;
  readonly models: readonly ModelRecord[];
  readonly served: readonly ModelRecord[];
  readonly model: ModelRecord;
}

function OpenTab({ tab, models, served, model }: OpenTabProps) {
  const scope = useKeptScope();
  const { account_id: account } = useAccount();
  const queries = useQueryClient();
  const [draft, change] = useFields(mediaPlace(scope, tab));
  const [pictures] = useFields(picturesPlace(scope, tab));
  const [run] = useKept(runPlace(scope, tab));
  const reuse = useReuse(models);
  // A tab for images sends no pictures, also to models that accept them.
  const sent = tab === "image" ? NO_PICTURES : pictures;
  const request = mediaRequest(model, draft, sent);
  const lacksPicture =
    tab === "edit" ? sent.files.length === 0 : needsPicture(model) && sent.files.length === 0;
  const isReady = draft.prompt !== "" && !lacksPicture;
  const quote = useQuote(account, request, isReady);
  const isRunning = run.control !== undefined;
  const start = () => void runMedia({ scope, tab, account, request, queries });
  return (
    <Stack>
      <PlaygroundHead tab={tab} requests={[{ name: model.name, request }]} />
      <div className="playground-columns">
        <Card
          component="section"
          aria-label="Request"
          padding={0}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && isReady && !isRunning) start();
          }}
        >
          <RequestForm {...{ tab, served, model }} />
          <Stack gap="xs" className="form-foot">
            <Button fullWidth size="md" disabled={isRunning || lacksPicture} onClick={start}>
              {VERBS[tab]}
              {quote.data !== undefined && isReady && ` · ${quoteText([quote.data])}`}
            </Button>
            <Group justify="space-between" gap="xs" wrap="nowrap">
              <Text size="xs" c="dimmed" role="note">
                {footText({ lacksPicture, hasPrompt: draft.prompt !== "", problem: quote.error })}
              </Text>
              <Text size="xs" c="dimmed" visibleFrom="sm">
                Ctrl ↵
              </Text>
            </Group>
          </Stack>
        </Card>
        <RunResult
          {...{ tab, model, run, start, reuse }}
          id={draft.shown}
          empty={
            <SamplePrompts
              samples={SAMPLES[tab]}
              choose={(prompt) => change({ prompt })}
              title={EMPTY[tab]}
            />
          }
        />
        <History
          shown={draft.shown}
          show={(id) => change({ shown: id })}
          kind={tab === "video" ? "video" : "image"}
        />
      </div>
    </Stack>
  );
}

const EMPTY = {
  image: "Describe an image",
  edit: "Choose an image, and describe the change",
  video: "Describe a video",
} as const;

function footText(state: { lacksPicture: boolean; hasPrompt: boolean; problem: Error | null }): string {
  if (state.lacksPicture) return "Add an image first.";
  if (!state.hasPrompt) return "Write a prompt to see the price.";
  if (state.problem !== null) return state.problem.message;
  return "Charged only if it succeeds.";
}

function RequestForm({ tab, served, model }: Omit<OpenTabProps, "models">) {
  const scope = useKeptScope();
  const filter = useFilter();
  const [draft, change] = useFields(mediaPlace(scope, tab));
  const [pictures, setPictures] = useFields(picturesPlace(scope, tab));
  const [first] = pictures.files;
  const most = model.limits.input_images ?? MOST_PICTURES;
  const longest = model.limits.prompt_characters ?? USUAL_PROMPT;
  return (
    <Stack gap="md" p="lg">
      <ModelChoice
        models={served}
        model={model}
        choose={(id) => {
          change({ model: id });
          void filter({ tab, model: id });
        }}
      />
      <DraftNote wanted={draft.model} model={model} unused={unusedBy(model, draft)} />
      {tab !== "image" && accepts(model, "image") && (
        <PicturePicker
          label={tab === "edit" ? "Images to edit" : "First image"}
          note={`${needsPicture(model) ? "needed" : "optional"}, up to ${most}`}
          most={most}
          files={pictures.files}
          onChange={(files) => setPictures(files[0] === first ? { files } : { ...NO_PICTURES, files })}
        />
      )}
      {tab === "edit" && accepts(model, "mask") && first !== undefined && (
        <MaskPainter
          picture={first}
          strokes={pictures.strokes}
          onChange={(strokes, mask) => setPictures({ strokes, mask })}
        />
      )}
      <div className="labelled-area">
        <Textarea
          label={tab === "edit" ? "Change" : "Prompt"}
          placeholder={SAMPLES[tab][0]}
          autosize
          minRows={4}
          maxRows={12}
          maxLength={longest}
          value={draft.prompt}
          onChange={({ currentTarget }) => change({ prompt: currentTarget.value })}
        />
        <Text size="xs" c="dimmed" className="label-link figures" aria-hidden="true">
          {countText(draft.prompt.length)} / {countText(longest)}
        </Text>
      </div>
      <ParameterFields model={model} draft={draft} change={change} />
    </Stack>
  );
}
