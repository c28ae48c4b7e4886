import webPush from 'web-push';
import { toGlobalId } from '../../api/graphql/schema/global-ids.ts';
import type { Organization, PushDevice } from '../../generated/prisma/client.ts';
import { avatarUrl } from '../../people/wire.ts';
import { domainOf, urlOf } from '../../platform/hosts.ts';
import { postTo } from '../../platform/outgoing.ts';
import { failedWith, type PushOutcome, secondsIn } from '../../platform/push/outcome.ts';
import type { PlacedMessage } from '../access.ts';
import { type Names, placeOf, textOf, urlOfMessage } from './content.ts';
import type { NotificationApp } from './decide.ts';
import type { Reason } from './decision.ts';
import type { PushKeys } from './keys.ts';

/** Time in seconds for which push services keep a message for a device that is offline: a day. */
export const TTL_SECONDS = 86_400;
/** Maximum length of the texts in a push message, in UTF-16 code units. The whole message has at most 4,096 bytes. */
const MAX_TITLE = 200;
const MAX_BODY = 600;
/** Maximum length of the JSON of a push message, in bytes. Encryption adds 103 bytes. @see RFC 8291 4 */
const MAX_BYTES = 3_900;

/** Content of a push message, as JSON. Devices receive it at least once. */
export type PushMessage =
  | {
      readonly type: 'message';
      /** Id of the notification. The same if it is delivered again. */
      readonly id: string;
      /** Id of the message in GraphQL. A device shows one notification for each message. */
      readonly messageId: string;
      readonly reason: Reason;
      readonly title: string;
      readonly body: string;
      /** Absolute URL of the sender's avatar. */
      readonly icon: string;
      /** Absolute URL at which the chat opens the message. */
      readonly url: string;
      /** Time at which the message was sent, in milliseconds since 1970. */
      readonly sentAt: number;
    }
  | {
      readonly type: 'removal';
      /** Ids of messages in GraphQL whose notifications are removed from the device. */
      readonly messageIds: readonly string[];
    };

/** Returns the push message about a message, for one user. Texts are cut to the maximum size of a push message. */
export function pushMessageOf(
  app: Pick<NotificationApp, 'config'>,
  organization: Organization,
  { id, reason, userId }: { readonly id: bigint; readonly reason: string; readonly userId: number },
  message: PlacedMessage,
  names: Names,
): PushMessage {
  const sender = names.get(message.senderId);
  const place = placeOf(message, { organization, readerId: userId, names });
  const name = sender?.fullName ?? '';
  const title = message.channel === null ? (place === name ? name : `${name} (${place})`) : `${name} (${place})`;
  const base = urlOf(app.config, organization.subdomain);
  const made = {
    type: 'message',
    id: String(id),
    messageId: toGlobalId('Message', message.id),
    reason: reason as Reason,
    title: cut(title, MAX_TITLE),
    body: cut(textOf(message), MAX_BODY),
    icon: sender === undefined ? '' : `${base}${avatarUrl(sender)}`,
    url: urlOfMessage(app, organization, message),
    sentAt: message.sentAt.getTime(),
  } as const;
  const excess = Buffer.byteLength(JSON.stringify(made)) - MAX_BYTES;
  return excess <= 0 ? made : { ...made, body: cut(made.body, Math.max(0, made.body.length - excess)) };
}

/** Cuts a text to a length in UTF-16 code units, and appends an ellipsis if it was longer. */
export const cut = (text: string, length: number): string =>
  text.length <= length
    ? text
    : `${text
        .slice(0, length)
        .toWellFormed()
        .replace(/\uFFFD$/, '')}…`;

/** Statuses with which a push service answers if a device does not exist. */
const GONE: ReadonlySet<number> = new Set([404, 410]);
/**
 * Statuses of errors that can end: the signature is refused, for example while the clock of this machine is wrong, or there are too
 * many requests. Statuses from 500 are such errors too.
 */
const TEMPORARY: ReadonlySet<number> = new Set([401, 403, 408, 429]);

/**
 * Encrypts and sends a push message to a browser or UnifiedPush endpoint. A later message about the same message replaces it, as long as the push service
 * has not delivered it.
 *
 * @see RFC 8030, RFC 8291 (encryption), RFC 8292 (signature)
 */
export async function sendToBrowser(
  { config }: Pick<NotificationApp, 'config'>,
  organization: Organization,
  { publicKey, privateKey }: PushKeys,
  device: PushDevice,
  message: PushMessage,
  signal: AbortSignal,
): Promise<PushOutcome> {
  const base = urlOf(config, organization.subdomain);
  const subject = base.startsWith('https:') ? base : `mailto:noreply@${domainOf(config, '')}`;
  const isPersonal = message.type === 'message' && (message.reason === 'direct' || message.reason === 'mention');
  const topic = message.type === 'message' ? message.messageId : message.messageIds[0];
  try {
    const { headers, body } = webPush.generateRequestDetails(
      { endpoint: device.endpoint, keys: { p256dh: device.publicKey, auth: device.authSecret } },
      JSON.stringify(message),
      {
        TTL: TTL_SECONDS,
        urgency: isPersonal ? 'high' : 'normal',
        topic: topicOf(topic ?? ''),
        vapidDetails: { subject, publicKey, privateKey },
        contentEncoding: 'aes128gcm',
      },
    );
    const text = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    const { status, retryAfter } = await postTo(config, device.endpoint, {
      headers: text,
      body: body ?? Buffer.alloc(0),
      signal,
    });
    if (status >= 200 && status < 300) return { kind: 'sent' };
    if (GONE.has(status)) return { kind: 'gone' };
    const reason = `HTTP status ${status}`;
    if (TEMPORARY.has(status) || status >= 500) {
      // Each organization has a key of its own, so a refused signature is no failure of the service.
      const [isOfService, isRefusal] = [status === 408 || status >= 500, status === 401 || status === 403];
      return { kind: 'failed', reason, afterSeconds: secondsIn(retryAfter), isOfService, isRefusal };
    }
    return { kind: 'refused', reason };
  } catch (error) {
    return failedWith(error);
  }
}

/** Returns the topic of a push message: at most 32 characters of base64url. */
const topicOf = (messageId: string): string => messageId.replace(/[^A-Za-z0-9_-]/g, '').slice(-32);
