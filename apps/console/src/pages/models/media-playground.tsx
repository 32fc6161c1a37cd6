// The media playground creates pictures and videos. Its form has exactly the fields that the model accepts.
import {
  Anchor,
  Button,
  Card,
  FileInput,
  Group,
  Loader,
  NumberInput,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
} from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { generate, type ModelRecord } from "../../api/public-api.ts";
import { formOf, QuotedPrice } from "../../parts/figures/quoted-price.tsx";
import { Failure } from "../../parts/lists/page-states.tsx";
import { MaskPainter } from "../../parts/media/mask-painter.tsx";
import { Media } from "../../parts/media/media.tsx";
import { PATHS } from "../../sample-code.ts";
import { useAccount } from "../../session.ts";
import { Samples } from "./samples.tsx";

const MOST_PICTURES = 16;
const AUTO = "auto";

interface Fields {
  readonly prompt: string;
  readonly size: string;
  readonly quality: string;
  readonly seconds: string;
  readonly n: number;
  readonly audio: boolean;
}

interface Result {
  readonly data: readonly { readonly url?: string }[];
  readonly cost?: number;
  readonly latency?: number;
}

export function MediaPlayground({ model, prompt }: { model: ModelRecord; prompt: string }) {
  const { account_id: account } = useAccount();
  const queries = useQueryClient();
  const [fields, setFields] = useState<Fields>({
    prompt,
    size: AUTO,
    quality: AUTO,
    seconds: AUTO,
    n: 1,
    audio: false,
  });
  const [pictures, setPictures] = useState<File[]>([]);
  const [mask, setMask] = useState<Blob>();
  const [result, setResult] = useState<Result>();
  const [error, setError] = useState<unknown>();
  const [running, setRunning] = useState<AbortController>();
  useEffect(() => () => running?.abort(), [running]);
  const body = bodyOf(model, fields);
  const path = model.type === "video" ? PATHS.video : PATHS.image;

  const start = async () => {
    const control = new AbortController();
    setRunning(control);
    setError(undefined);
    setResult(undefined);
    try {
      const sent = pictures.length === 0 ? body : formOf(body, pictures, mask);
      const response = await generate(account, path, sent, control.signal);
      setResult((await response.json()) as Result);
    } catch (problem) {
      if (!control.signal.aborted) setError(problem);
    } finally {
      setRunning(undefined);
      for (const key of ["generations", "home"]) void queries.invalidateQueries({ queryKey: [key, account] });
    }
  };

  return (
    <Stack>
      <ParameterForm
        model={model}
        fields={fields}
        change={(changed) => setFields({ ...fields, ...changed })}
      />
      {accepts(model, "image") && (
        <FileInput
          label="Pictures"
          description={`To work on; up to ${model.limits.input_images ?? MOST_PICTURES}`}
          placeholder="Choose files"
          multiple
          clearable
          accept="image/png,image/jpeg,image/webp"
          value={pictures}
          onChange={(files) => {
            setPictures(files);
            setMask(undefined);
          }}
        />
      )}
      {accepts(model, "mask") && pictures[0] !== undefined && (
        <MaskPainter key={pictures[0].name} picture={pictures[0]} onChange={setMask} />
      )}
      <Group>
        <Button disabled={running !== undefined} onClick={() => void start()}>
          {model.type === "video" ? "Generate video" : "Generate"}
        </Button>
        {running === undefined && fields.prompt !== "" && (
          <QuotedPrice account={account} path={path} body={body} pictures={pictures} />
        )}
        {running !== undefined && (
          <>
            <Loader size="sm" aria-label="Working" />
            <Button variant="default" onClick={() => running.abort()}>
              Continue in background
            </Button>
            <Text size="sm" c="dimmed">
              The result is also in the{" "}
              <Anchor
                renderRoot={(props) => <Link to="/accounts/$account/logs" params={{ account }} {...props} />}
              >
                logs
              </Anchor>
              .
            </Text>
          </>
        )}
      </Group>
      {error !== undefined && <Failure error={error} />}
      {result !== undefined && <Shown result={result} model={model} prompt={fields.prompt} />}
      <Samples type={model.type} body={body} />
    </Stack>
  );
}

const accepts = (model: ModelRecord, parameter: string) => model.supported_parameters.includes(parameter);

/** Returns the values of the form, without those that the model would choose by itself. */
function bodyOf(model: ModelRecord, { prompt, size, quality, seconds, n, audio }: Fields) {
  return {
    model: model.id,
    ...(prompt !== "" && { prompt }),
    ...(size !== AUTO && { size }),
    ...(quality !== AUTO && { quality }),
    ...(seconds !== AUTO && { seconds: Number(seconds) }),
    ...(n > 1 && { n }),
    ...(audio && { audio }),
  };
}

function ParameterForm(props: {
  model: ModelRecord;
  fields: Fields;
  change: (changed: Partial<Fields>) => void;
}) {
  const { model, fields, change } = props;
  const choice = (
    label: string,
    name: "size" | "quality" | "seconds",
    values: readonly (string | number)[],
  ) =>
    values.length > 0 && (
      <Select
        label={label}
        w={170}
        allowDeselect={false}
        data={[AUTO, ...values.map(String)].map((value) => ({
          value,
          label: value === AUTO ? `auto (${model.default[name] ?? "model's choice"})` : value,
        }))}
        value={fields[name]}
        onChange={(value) => change({ [name]: value ?? AUTO })}
      />
    );
  return (
    <Stack>
      <Textarea
        label="Prompt"
        autosize
        minRows={3}
        maxRows={10}
        maxLength={model.limits.prompt_characters ?? 20_000}
        value={fields.prompt}
        onChange={({ currentTarget }) => change({ prompt: currentTarget.value })}
      />
      <Group align="flex-end">
        {choice("Size", "size", model.sizes)}
        {choice("Quality", "quality", model.qualities)}
        {choice("Seconds", "seconds", model.seconds)}
        {accepts(model, "n") && (
          <NumberInput
            label="Number of images"
            w={110}
            min={1}
            max={10}
            value={fields.n}
            onChange={(value) => change({ n: Number(value) || 1 })}
          />
        )}
        {accepts(model, "audio") && (
          <Switch
            label="With sound"
            checked={fields.audio}
            onChange={({ currentTarget }) => change({ audio: currentTarget.checked })}
          />
        )}
      </Group>
    </Stack>
  );
}

function Shown({ result, model, prompt }: { result: Result; model: ModelRecord; prompt: string }) {
  return (
    <Card withBorder component="section" aria-label="Result">
      <Stack>
        <Text role="status">
          {result.cost !== undefined && `Charged $${result.cost}`}
          {result.latency !== undefined && ` · ${(result.latency / 1_000).toFixed(1)} s`}
        </Text>
        <div className="gallery">
          {result.data.map(
            ({ url }, index) =>
              url !== undefined && (
                <Media
                  key={url}
                  kind={model.type === "video" ? "video" : "image"}
                  url={url}
                  controls
                  label={`${prompt || model.name}, ${index + 1} of ${result.data.length}`}
                />
              ),
          )}
        </div>
      </Stack>
    </Card>
  );
}
