import { organizationSetting } from '../../access/organization-settings.ts';
import { toGlobalId } from '../../api/graphql/schema/global-ids.ts';
import type { Organization, PushDevice } from '../../generated/prisma/client.ts';
import { avatarUrl } from '../../people/wire.ts';
import { urlOf } from '../../platform/hosts.ts';
import { encryptFor } from '../../platform/push/encryption.ts';
import type { PushOutcome } from '../../platform/push/outcome.ts';
import type { PlacedMessage } from '../access.ts';
import { type Names, textOf } from './content.ts';
import type { NotificationApp } from './decide.ts';
import { cut, type PushMessage, TTL_SECONDS } from './push-message.ts';

/** Maximum length of the text of a message, in UTF-16 code units. */
const MAX_CONTENT = 500;
/** Maximum length of the JSON of a message in bytes. With its encryption in base64, it must fit into 4,096 bytes. */
const MAX_BYTES = 2_800;
/** Text in place of the content of messages that may be sent with encryption only. */
const HIDDEN = 'New message';
/** Maximum length of the texts of an alert, in UTF-16 code units and in bytes of JSON: they are in the message as well. */
const MAX_TITLE = { length: 100, bytes: 300 };
const MAX_ALERT = { length: 250, bytes: 750 };
/** Maximum number of participants of a conversation whose ids are in a message. */
const MAX_RECIPIENTS = 100;

type Value = string | number | readonly number[];

/** The fields of a message for an app, as JSON. Devices receive it at least once. */
type Fields = Readonly<Record<string, Value>>;

/** A message for an app. */
export interface PhoneMessage {
  readonly type: 'message' | 'remove' | 'test';
  /** A later message with the same text replaces the notification. */
  readonly collapseId: string;
  /** Whether the device is to be woken for the message. */
  readonly isUrgent: boolean;
  readonly fields: Fields;
  /** The notification that a device shows if the app is not running. Undefined: none. */
  readonly alert?: { readonly title: string; readonly body: string } | undefined;
  /** The fields for devices without encryption, if the organization requires it. Default: `fields`. */
  readonly fieldsInPlain?: Fields | undefined;
}

/** Returns the fields of all messages to a user. */
const baseOf = ({ config }: Pick<NotificationApp, 'config'>, organization: Organization, userId: number): Fields => ({
  realm_url: urlOf(config, organization.subdomain),
  realm_name: organization.name,
  user_id: userId,
});

/**
 * Returns the message about a chat message for the apps of a user. Its text is cut to the maximum size.
 *
 * @param shown The content for browsers, from which the notification of a device is made.
 */
export function phoneMessageOf(
  app: Pick<NotificationApp, 'config'>,
  organization: Organization,
  { id, userId }: { readonly id: bigint; readonly userId: number },
  { message, names, shown }: { readonly message: PlacedMessage; readonly names: Names; readonly shown: PushMessage },
): PhoneMessage {
  const { channel, topic, conversation, senderId, sentAt } = message;
  const sender = names.get(senderId);
  const base = baseOf(app, organization, userId);
  const recipients = conversation?.memberIds.toSorted((a, b) => a - b) ?? [];
  const place: Fields =
    channel === null
      ? { recipient_type: 'direct', ...(recipients.length <= MAX_RECIPIENTS && { recipient_user_ids: recipients }) }
      : { recipient_type: 'channel', channel_id: channel.id, channel_name: channel.name, topic };
  const withoutContent = {
    ...{ type: 'message', ...base, notification_id: String(id), message_id: Number(message.id) },
    ...{ time: Math.floor(sentAt.getTime() / 1000) },
  };
  const fields = fitting((content) => ({
    ...{ ...withoutContent, ...place, content, sender_id: senderId, sender_full_name: sender?.fullName ?? '' },
    sender_avatar_url: sender === undefined ? '' : new URL(avatarUrl(sender), String(base['realm_url'])).href,
  }))(cut(textOf(message), MAX_CONTENT));
  const isHidden = organizationSetting(organization, 'require_e2ee_push_notifications');
  const { title = '', body = '' } = shown.type === 'message' ? shown : {};
  return {
    ...{ type: 'message', collapseId: collapseIdOf(message.id), isUrgent: true, fields },
    ...(isHidden && { fieldsInPlain: { ...withoutContent, content: HIDDEN } }),
    alert: isHidden
      ? { title: organization.name, body: HIDDEN }
      : { title: cutTo(title, MAX_TITLE), body: cutTo(body, MAX_ALERT) },
  };
}

/** Returns the message that removes the notifications of messages. */
export const removalOf = (
  app: Pick<NotificationApp, 'config'>,
  organization: Organization,
  userId: number,
  messageIds: readonly bigint[],
): PhoneMessage => ({
  type: 'remove',
  collapseId: `remove ${messageIds[0] ?? ''}`,
  isUrgent: false,
  fields: { type: 'remove', ...baseOf(app, organization, userId), message_ids: messageIds.map(Number) },
});

/** Returns the message with which a user tries the notifications of an app. */
export const testMessageOf = (
  app: Pick<NotificationApp, 'config' | 'now'>,
  organization: Organization,
  userId: number,
): PhoneMessage => ({
  type: 'test',
  collapseId: 'test',
  isUrgent: true,
  fields: { type: 'test', ...baseOf(app, organization, userId), time: Math.floor(app.now().getTime() / 1000) },
  alert: { title: organization.name, body: 'Test notification' },
});

const collapseIdOf = (messageId: bigint): string => toGlobalId('Message', messageId).slice(-64);

/** Returns a function that builds fields with a text, which it cuts until they have at most `MAX_BYTES`. */
const fitting = (build: (content: string) => Fields) => (content: string) => {
  const excess = Buffer.byteLength(JSON.stringify(build(content))) - MAX_BYTES;
  return excess <= 0
    ? build(content)
    : build(cutTo(content, { length: MAX_CONTENT, bytes: bytesOf(content) - excess }));
};

/** Returns the length of a text in JSON, in bytes, without its quotation marks. */
const bytesOf = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;

/** Length of an ellipsis in bytes. */
const ELLIPSIS = 3;

/** Cuts a text to a length in UTF-16 code units and in bytes of JSON, and appends an ellipsis if it was longer. */
function cutTo(text: string, { length, bytes }: { readonly length: number; readonly bytes: number }): string {
  const shortened = cut(text, length);
  if (bytesOf(shortened) <= bytes) return shortened;
  let [end, used] = [0, ELLIPSIS];
  for (const character of shortened) {
    used += bytesOf(character);
    if (used > bytes) break;
    end += character.length;
  }
  return cut(shortened, end);
}

/** Sends a message to an app, encrypted if the app has registered a key. */
export async function sendToPhone(
  { phones, config, now }: Pick<NotificationApp, 'phones' | 'config' | 'now'>,
  device: PushDevice,
  message: PhoneMessage,
  signal: AbortSignal,
): Promise<PushOutcome> {
  const token = device.endpoint.slice(device.endpoint.indexOf(':') + 1);
  const { pushKey, pushKeyId } = device;
  const encrypted =
    pushKey === null || pushKeyId === null
      ? undefined
      : {
          push_key_id: Number(pushKeyId),
          encrypted_data: await encryptFor(pushKey, JSON.stringify(message.fields)),
        };
  const fields = encrypted ?? message.fieldsInPlain ?? message.fields;
  if (device.kind === 'fcm' && phones.fcm !== undefined) {
    const event = encrypted === undefined ? { event: message.type } : {};
    return phones.fcm.send({
      ...{ token, data: { ...event, ...asTexts(fields) }, signal },
      ...{ priority: message.isUrgent ? 'HIGH' : 'NORMAL', ttlSeconds: TTL_SECONDS },
    });
  }
  if (device.kind === 'apns' && phones.apns !== undefined) {
    const isAlert = message.alert !== undefined;
    const plainAlert = { alert: message.alert, sound: 'default' };
    // The app replaces the alert when it has decrypted the message.
    const encryptedAlert = { alert: { title: 'New notification' }, sound: 'default', 'mutable-content': 1 };
    const alert = encrypted === undefined ? plainAlert : encryptedAlert;
    return phones.apns.send({
      ...{ token, topic: device.appId ?? config.apns?.topic ?? '', signal },
      payload: { ...fields, aps: isAlert ? alert : { 'content-available': 1 } },
      pushType: isAlert ? 'alert' : 'background',
      collapseId: message.collapseId,
      expiration: Math.floor(now().getTime() / 1000) + TTL_SECONDS,
      registeredAt: device.tokenUpdatedAt ?? device.createdAt,
    });
  }
  const reason = 'the push service is not configured';
  return { kind: 'failed', reason, afterSeconds: 0, isOfService: false, isRefusal: true };
}

/** Returns fields as texts, which is all that Firebase Cloud Messaging sends. Lists become numbers with commas between them. */
const asTexts = (fields: Fields): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
