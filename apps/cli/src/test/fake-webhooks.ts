// Webhooks of one account behind the commands: receivers, secrets and one delivery, which a redelivery changes.
import { create } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import { WebhookDeliverySchema, WebhookService, WebhookState } from "@gr/proto/webhooks";
import { implement } from "@gr/runtime";

const CREATED_AT = BigInt(Date.UTC(2027, 0, 1));

export function createFakeWebhooks() {
  const receivers = new Map<string, string>();
  let rotations = 0;
  const delivery = create(WebhookDeliverySchema, {
    id: "evt_7",
    keyId: "k",
    url: "https://a.example/",
    type: "video.completed",
    data: "{}",
    state: WebhookState.FAILED,
    attempts: 10,
    createdAt: CREATED_AT,
    lastStatus: 500,
    lastError: "the receiver answered 500",
    endedAt: CREATED_AT,
  });
  return implement(WebhookService, {
    sendEvent: async () => ({ accepted: false }),
    getWebhookSettings: async () => ({
      receivers: [...receivers].map(([keyId, url]) => ({ keyId, url })),
      secrets: Array.from({ length: rotations }, () => ({ createdAt: CREATED_AT })),
    }),
    checkWebhookUrl: async ({ url }) => ({ url }),
    async setWebhookReceiver({ keyId, url }) {
      if (url === "") receivers.delete(keyId);
      else receivers.set(keyId, url);
      return { url };
    },
    async rotateWebhookSecret() {
      rotations += 1;
      return { secret: `whsec_${rotations}` };
    },
    async listWebhookDeliveries({ state, keyId }) {
      const isWanted =
        (state === 0 || state === delivery.state) && (keyId === "" || keyId === delivery.keyId);
      return { deliveries: isWanted ? [delivery] : [], hasMore: false };
    },
    async redeliverWebhook({ id }) {
      if (id !== delivery.id)
        throw new ServiceError("delivery_not_found", "There is no webhook delivery with this id.");
      delivery.state = WebhookState.PENDING;
      delivery.nextAttemptAt = CREATED_AT;
      return { delivery };
    },
  });
}
