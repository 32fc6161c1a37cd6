// Dialogs of one key: create, edit, rotate, delete.
import "@mantine/core/styles/Pill.css";
import "@mantine/core/styles/PillsInput.css";
import { type AnswerOf, type KeyRecord, keyChangeBody, newKeyBody, responseFormat } from "@gr/console-api";
import {
  Alert,
  Button,
  Group,
  Modal,
  MultiSelect,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconShieldCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { modelsQuery } from "../../models-query.ts";
import { Confirm } from "../../parts/dialogs/confirm.tsx";
import { moneyText, shortDecimal } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { LimitFields, type LimitValues, limitOf } from "../../parts/forms/limit-fields.tsx";
import { NumberField } from "../../parts/forms/number-field.tsx";
import { RESPONSE_FORMATS } from "../../parts/forms/response-formats.ts";
import { useAccount } from "../../session.ts";
import { ExpiryField, localInput } from "./expiry-field.tsx";
import { SavesTexts } from "./saved-texts.tsx";

/** Values of inputs: text, and "" for an unset field. */
interface KeyFields extends LimitValues {
  readonly name: string;
  /** Local time in the format of `datetime-local`. */
  readonly expires_at: string;
  /** Empty: all. */
  readonly allowed_models: string[];
  readonly allowed_providers: string[];
  /** "" = that of the account. */
  readonly default_response_format: string;
  readonly saves_texts: boolean;
}

const NO_FIELDS: KeyFields = {
  name: "",
  spend_limit: "",
  spend_limit_period: "",
  expires_at: "",
  allowed_models: [],
  allowed_providers: [],
  default_response_format: "",
  saves_texts: false,
};

/** Returns the request body. */
function bodyOf({
  name,
  expires_at,
  allowed_models,
  allowed_providers,
  default_response_format: format,
  saves_texts,
  ...limit
}: KeyFields) {
  return {
    name,
    ...limitOf(limit),
    expires_at: expires_at === "" ? null : new Date(expires_at).toISOString(),
    allowed_models: allowed_models.length === 0 ? null : allowed_models,
    allowed_providers: allowed_providers.length === 0 ? null : allowed_providers,
    default_response_format: format === "" ? null : responseFormat.parse(format),
    saves_texts,
  };
}

function useKeyForm(initialValues: KeyFields, rules: Parameters<typeof byRules>[0]) {
  return useForm<KeyFields>({ initialValues, validate: byRules<KeyFields>(rules, bodyOf) });
}

function Fields({ form, isNormal }: { form: ReturnType<typeof useKeyForm>; isNormal: boolean }) {
  return (
    <>
      <TextInput label="Name" data-autofocus {...form.getInputProps("name")} />
      {isNormal && <LimitFields form={form} />}
      <ExpiryField
        value={form.values.expires_at}
        onChange={(value) => form.setFieldValue("expires_at", value)}
        error={form.errors["expires_at"]}
      />
      {isNormal && <AllowLists form={form} />}
      {isNormal && (
        <Select
          label="Default response_format"
          description="For image and video requests that name none. Clients that read base64 only need b64_json."
          data={[{ value: "", label: "As the account" }, ...RESPONSE_FORMATS]}
          allowDeselect={false}
          {...form.getInputProps("default_response_format")}
        />
      )}
      {isNormal && (
        <SavesTexts
          checked={form.values.saves_texts}
          onChange={(checked) => form.setFieldValue("saves_texts", checked)}
        />
      )}
      {isNormal && <Effect of={form.values} />}
    </>
  );
}

/** The limits of the key in a sentence. */
function Effect({ of: { expires_at, ...values } }: { of: KeyFields }) {
  const { spend_limit: most, spend_limit_period: each } = limitOf(values);
  if (!keyChangeBody.shape.spend_limit.safeParse(most).success) return null;
  const period = each === null ? "in total" : `each ${each} (UTC)`;
  const end = new Date(expires_at);
  return (
    <Alert color="brand" icon={<IconShieldCheck size={18} />}>
      {most === null
        ? "This key can spend the balance of the account"
        : `This key can spend at most ${moneyText(most)} ${period}`}
      {expires_at !== "" &&
        !Number.isNaN(end.getTime()) &&
        `, and stops working on ${end.toLocaleDateString(undefined, { dateStyle: "medium" })}`}
      . A request that could exceed its limit is refused before it starts.
    </Alert>
  );
}

function AllowLists({ form }: { form: ReturnType<typeof useKeyForm> }) {
  const { data: models = [] } = useQuery(modelsQuery);
  const providers = [...new Set(models.flatMap((model) => model.providers))].sort();
  return (
    <>
      <TagsInput
        label="Allowed models"
        description="Ids of models. * at the end stands for any end. Empty: all models."
        placeholder={form.values.allowed_models.length === 0 ? "all models" : ""}
        data={models.map(({ id }) => id)}
        limit={50}
        maxTags={100}
        clearable
        acceptValueOnBlur
        {...form.getInputProps("allowed_models")}
      />
      <MultiSelect
        label="Allowed providers"
        description="Requests are never sent to another provider. Empty: all providers."
        placeholder={form.values.allowed_providers.length === 0 ? "all providers" : ""}
        data={[...new Set([...providers, ...form.values.allowed_providers])]}
        searchable
        clearable
        {...form.getInputProps("allowed_providers")}
      />
    </>
  );
}

interface DialogProps {
  readonly close: () => void;
}
type OnSecret = (minted: AnswerOf<"createKey">) => void;

export function NewKey({
  kind,
  close,
  onSecret,
}: DialogProps & { kind: KeyRecord["kind"]; onSecret: OnSecret }) {
  const { account_id: account } = useAccount();
  const form = useKeyForm(NO_FIELDS, newKeyBody);
  const create = useAct({
    send: (fields: KeyFields) => call("createKey", { path: { account }, body: { ...bodyOf(fields), kind } }),
    changes: [
      ["keys", account],
      ["home", account],
    ],
    after: onSecret,
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title={kind === "management" ? "New management key" : "New key"}>
      <form onSubmit={form.onSubmit((fields) => create.mutate(fields))} noValidate>
        <Stack>
          <Fields form={form} isNormal={kind === "normal"} />
          <Foot close={close} isSending={create.isPending} word="Create" />
        </Stack>
      </form>
    </Modal>
  );
}

/** @param word of the button that sends the form */
function Foot({ close, isSending, word }: DialogProps & { isSending: boolean; word: string }) {
  return (
    <Group justify="flex-end" className="dialog-foot">
      <Button variant="default" onClick={close}>
        Cancel
      </Button>
      <Button type="submit" loading={isSending}>
        {word}
      </Button>
    </Group>
  );
}

export function EditKey({ apiKey, close }: DialogProps & { apiKey: KeyRecord }) {
  const { account_id: account } = useAccount();
  const form = useKeyForm(
    {
      name: apiKey.name,
      spend_limit: shortDecimal(apiKey.spend_limit ?? ""),
      spend_limit_period: apiKey.spend_limit_period ?? "",
      expires_at: apiKey.expires_at === null ? "" : localInput(apiKey.expires_at),
      allowed_models: apiKey.allowed_models ?? [],
      allowed_providers: apiKey.allowed_providers ?? [],
      default_response_format: apiKey.default_response_format ?? "",
      saves_texts: apiKey.saves_texts,
    },
    keyChangeBody,
  );
  const change = useAct({
    send: (fields: KeyFields) => {
      const { spend_limit, spend_limit_period, allowed_models, allowed_providers, ...rest } = bodyOf(fields);
      const { default_response_format, saves_texts, ...others } = rest;
      const limits = {
        ...{ spend_limit, spend_limit_period, default_response_format, saves_texts },
        // An unchanged list may name a model that is gone, which a new list must not.
        ...(form.isDirty("allowed_models") && { allowed_models }),
        ...(form.isDirty("allowed_providers") && { allowed_providers }),
      };
      return call("changeKey", {
        path: { account, id: apiKey.id },
        body: { ...others, ...(apiKey.kind === "normal" && limits) },
      });
    },
    changes: [["keys", account]],
    done: "The key is changed.",
    after: close,
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title={`Edit ${apiKey.name}`}>
      <form onSubmit={form.onSubmit((fields) => change.mutate(fields))} noValidate>
        <Stack>
          <Fields form={form} isNormal={apiKey.kind === "normal"} />
          {apiKey.kind === "normal" && (
            <Text size="xs" c="dimmed">
              Changing the reset period resets spend to zero.
            </Text>
          )}
          <Foot close={close} isSending={change.isPending} word="Save" />
        </Stack>
      </form>
    </Modal>
  );
}

export function RotateKey({
  apiKey,
  close,
  onSecret,
}: DialogProps & { apiKey: KeyRecord; onSecret: OnSecret }) {
  const { account_id: account } = useAccount();
  const form = useForm({ initialValues: { overlap_hours: 24 as number | undefined } });
  const rotate = useAct({
    send: ({ overlap_hours = 0 }: { overlap_hours: number | undefined }) =>
      call("rotateKey", { path: { account, id: apiKey.id }, body: { overlap_hours } }),
    changes: [["keys", account]],
    after: ({ key, secret }) => onSecret({ key: key ?? apiKey, secret }),
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title={`Rotate ${apiKey.name}`}>
      <form onSubmit={form.onSubmit((values) => rotate.mutate(values))}>
        <Stack>
          <Text size="sm">
            The key gets a new secret. Its budget, its spend and its limits stay: both secrets spend from the
            same budget. Configure the new one in your programs before the old one ends.
          </Text>
          {apiKey.former_secret !== null && (
            <Alert color="yellow">
              The former secret, {apiKey.former_secret.hint}, keeps its end. The newest secret, {apiKey.hint},
              ends within seconds when you rotate again. 0 hours end both.
            </Alert>
          )}
          <NumberField
            label="Keep the old secret working for, hours"
            description="0 ends it within seconds"
            min={0}
            max={720}
            {...form.getInputProps("overlap_hours")}
          />
          <Group justify="flex-end" className="dialog-foot">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={rotate.isPending}>
              Rotate
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

export function DeleteKey({ apiKey, close }: DialogProps & { apiKey: KeyRecord }) {
  const { account_id: account } = useAccount();
  const remove = useAct({
    send: () => call("deleteKey", { path: { account, id: apiKey.id } }),
    changes: [["keys", account]],
    done: "The key is deleted.",
    after: close,
  });
  return (
    <Confirm
      title={`Delete ${apiKey.name}?`}
      button="Delete"
      isPending={remove.isPending}
      act={() => remove.mutate()}
      close={close}
    >
      Programs that use this key are refused at once. A deleted key cannot be restored.
    </Confirm>
  );
}
