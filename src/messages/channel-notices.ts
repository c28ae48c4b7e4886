import type { Runtime } from '../access/context.ts';
import { organizationSetting } from '../access/organization-settings.ts';
import type { ChannelChange, SubscribedByOther } from '../channels/hooks.ts';
import type { Emit } from '../events/log.ts';
import type { Channel, Organization, User } from '../generated/prisma/client.ts';
import type { Tx } from '../platform/db/client.ts';
import { MAX_MESSAGE_LENGTH } from '../platform/limits.ts';
import { channelLink, entities, silentMention } from './sending/links.ts';
import { notify } from './sending/notices.ts';

// Messages of the notification bot about channels and new users.

/** Topics of the notices in a channel, in the channel for new channels, and in the channel for new users. */
const [EVENTS, NEW_CHANNELS, SIGN_UPS] = ['channel events', 'new channels', 'signups'] as const;

interface NoticeContext {
  readonly app: Runtime;
  readonly organization: Organization;
}

/**
 * Announces a new channel if the viewer wants it, and describes the change of a channel in the channel itself, if the
 * organization has the setting `send_channel_events_messages`. Nothing can be sent to a channel that is and stays archived, so its
 * changes have no notice.
 */
export async function postChannelNotices(tx: Tx, emit: Emit, change: ChannelChange): Promise<void> {
  const { ctx, before, channel, isAnnounced = false } = change;
  const place = { app: ctx.app, organization: ctx.viewer.organization };
  const who = silentMention(ctx.viewer.user);
  if (before === undefined && isAnnounced && !channel.inviteOnly) {
    const text = `${who} created a new channel ${channelLink(channel)}.`;
    await announce(tx, emit, place, { setting: 'new_stream_announcements_stream_id', topic: NEW_CHANNELS }, text);
  }
  if (!organizationSetting(place.organization, 'send_channel_events_messages')) return;
  if (before?.isArchived === true && channel.isArchived) return;
  const topic = channel.topicsPolicy === 'empty_topic_only' ? '' : EVENTS;
  for (const what of before === undefined ? [creation(channel)] : changesOf(before, channel)) {
    await notify(tx, emit, place, { channelId: channel.id, topic }, `${who} ${what}`);
  }
}

/** Announces a new person in the organization's channel for new users, if there is one. */
export const announceUser = (tx: Tx, emit: Emit, place: NoticeContext, user: User): Promise<void> =>
  announce(
    tx,
    emit,
    place,
    { setting: 'signup_announcements_stream_id', topic: SIGN_UPS },
    `${silentMention(user)} joined this organization.`,
  );

/** Informs a user of the channels to which the viewer has subscribed them. */
export async function notifySubscribed(
  tx: Tx,
  emit: Emit,
  { ctx, userId, channels }: SubscribedByOther,
): Promise<void> {
  const place = { app: ctx.app, organization: ctx.viewer.organization };
  const [first, ...others] = channels.map(channelLink);
  if (first === undefined) return;
  const what =
    others.length === 0 ? `the channel ${first}.` : `the following channels:\n\n${listOfLinks([first, ...others])}`;
  const content = `${silentMention(ctx.viewer.user)} subscribed you to ${what}`;
  await notify(tx, emit, place, { userIds: [userId] }, content);
}

/** Maximum number of channels that a notice names. */
const MAX_NAMED = 50;
/** Maximum length of the list of channels in a notice, in UTF-16 code units. The rest of the notice needs less than 500. */
const MAX_LIST_LENGTH = MAX_MESSAGE_LENGTH - 500;

/** Returns a list of links, with the number of those that are left out because there are too many or their texts are too long. */
function listOfLinks(links: readonly string[]): string {
  const items: string[] = [];
  let length = 0;
  for (const link of links.slice(0, MAX_NAMED)) {
    const item = `* ${link}\n`;
    length += item.length;
    if (length > MAX_LIST_LENGTH) break;
    items.push(item);
  }
  const left = links.length - items.length;
  return `${items.join('')}${left === 0 ? '' : `\nand ${left} more`}`.trimEnd();
}

interface Announcement {
  readonly setting: 'new_stream_announcements_stream_id' | 'signup_announcements_stream_id';
  readonly topic: string;
}

/** Sends a message to the channel that a setting names. Sends none if it names no channel, or one that is archived. */
async function announce(
  tx: Tx,
  emit: Emit,
  place: NoticeContext,
  { setting, topic }: Announcement,
  content: string,
): Promise<void> {
  const { organization } = place;
  const id = organizationSetting(organization, setting);
  if (id < 1) return;
  const where = { organizationId: organization.id, id, isArchived: false };
  const channel = await tx.channel.findFirst({ where, select: { topicsPolicy: true } });
  if (channel === null) return;
  const isTopicless = channel.topicsPolicy === 'empty_topic_only';
  await notify(tx, emit, place, { channelId: id, topic: isTopicless ? '' : topic }, content);
}

const creation = (channel: Channel): string =>
  `created this channel.\n\n* **Privacy**: ${privacyOf(channel)}\n* **Description**: ${described(channel.description)}`;

/** Returns the texts about the changes that users should know of, each to be preceded by the name of the actor. */
function changesOf(before: Channel, after: Channel): string[] {
  const texts: string[] = [];
  if (after.isArchived !== before.isArchived) {
    texts.push(after.isArchived ? 'archived this channel.' : 'restored this channel from the archive.');
  }
  if (after.name !== before.name) {
    texts.push(`renamed this channel from **${entities(before.name)}** to **${entities(after.name)}**.`);
  }
  const differs = (what: string, old: string, current: string) => {
    if (current !== old) texts.push(`changed the ${what} of this channel.\n\n* **Old**: ${old}\n* **New**: ${current}`);
  };
  differs('description', described(before.description), described(after.description));
  differs('privacy', privacyOf(before), privacyOf(after));
  differs('message retention', retentionOf(before), retentionOf(after));
  return texts;
}

/** Maximum length of a description in a notice, in code points. With HTML entities, two of them fit into a message. */
const MAX_SHOWN = 800;

/** Escapes a description, so that it is not parsed as Markdown and mentions in it notify no user. */
function described(description: string): string {
  const letters = [...description];
  if (letters.length === 0) return '*none*';
  return letters.length > MAX_SHOWN ? `${entities(letters.slice(0, MAX_SHOWN).join(''))}…` : entities(description);
}

function privacyOf({ isWebPublic, inviteOnly, historyPublicToSubscribers }: Channel): string {
  if (isWebPublic) return 'web-public';
  if (!inviteOnly) return 'public';
  return historyPublicToSubscribers ? 'private, with shared history' : 'private, with protected history';
}

function retentionOf({ messageRetentionDays }: Channel): string {
  if (messageRetentionDays === null) return "the organization's default";
  if (messageRetentionDays < 0) return 'messages are kept forever';
  return `${messageRetentionDays} ${messageRetentionDays === 1 ? 'day' : 'days'}`;
}
