import type { Ctx } from '../../access/context.ts';
import { organizationSetting } from '../../access/organization-settings.ts';
import { transact } from '../../events/log.ts';
import type { Channel, User } from '../../generated/prisma/client.ts';
import { ForbiddenError, ValidationError } from '../../platform/errors.ts';
import { MAX_MESSAGE_LENGTH, MAX_TOPIC_LENGTH, REPORT_TYPES } from '../../platform/limits.ts';
import { cutText, requireText } from '../../platform/text.ts';
import { accessMessageIn, type PlacedMessage } from '../access.ts';
import { directAddress, fenceFor, silentMention, topicLink, withoutFences } from '../sending/links.ts';
import { notify } from '../sending/notices.ts';

const MAX_DESCRIPTION_LENGTH = 1000;
/** Number of code points of a report that are reserved for the description and for the text around the quoted message. */
const RESERVED = MAX_DESCRIPTION_LENGTH + 500;

/**
 * Maximum number of recipients whose names a report contains. For further recipients, the report contains only their number.
 * More names would leave too little space for the quoted message.
 */
const MAX_NAMED = 10;

export interface Report {
  /** Type of the report: one of the keys of `REPORT_TYPES`. */
  readonly reportType: string;
  /** Explanation by the user, at most 1,000 code points. Must not be blank for the type "other". */
  readonly description: string;
}

/**
 * Reports a message to the organization's moderators: the notification bot quotes the message in the channel for moderation
 * requests. Users can report any message that they can read, including their own, any number of times.
 *
 * @throws ValidationError if the type is unknown, or the description is too long or missing.
 * @throws NotFoundError if the viewer cannot read the message.
 * @throws ForbiddenError if the organization has no channel for moderation requests.
 */
export async function reportMessage(ctx: Ctx, messageId: number, { reportType, description }: Report): Promise<void> {
  const { app, viewer } = ctx;
  const type = REPORT_TYPES.find(({ key }) => key === reportType);
  if (type === undefined) {
    throw new ValidationError('Invalid report_type', {
      parameter: 'report_type',
      value: reportType,
      schemaMessage: 'The reason for the report is unknown.',
    });
  }
  const explanation = requireText('description', description, { max: MAX_DESCRIPTION_LENGTH });
  if (type.key === 'other' && explanation.trim() === '') {
    throw new ValidationError('An explanation is required.', { parameter: 'description', minimum: 1 });
  }
  const channelId = organizationSetting(viewer.organization, 'moderation_request_channel_id');
  await transact(ctx, async (tx, emit) => {
    const where = { organizationId: viewer.organization.id, id: channelId, isArchived: false };
    const moderation = channelId === -1 ? null : await tx.channel.findFirst({ where });
    if (moderation === null) throw new ForbiddenError('Message reporting is not enabled in this organization.');
    const message = await accessMessageIn(tx, viewer, messageId, app.now());
    const people = await tx.user.findMany({
      where: {
        organizationId: viewer.organization.id,
        id: { in: [message.senderId, ...(message.conversation?.memberIds ?? [])] },
      },
      orderBy: { id: 'asc' },
    });
    const reported = people.find(({ id }) => id === message.senderId);
    if (reported === undefined) throw new Error('The sender of the message was not found');
    const reason = `**${type.name}**. ${withoutFences(explanation)}`;
    const content = reportOf(message, { reporter: viewer.user, reported, people }, reason);
    const to = { channelId: moderation.id, topic: topicOf(moderation, reported) };
    await notify(tx, emit, { app, organization: viewer.organization }, to, content);
  });
}

function topicOf({ topicsPolicy }: Pick<Channel, 'topicsPolicy'>, { fullName }: User): string {
  return topicsPolicy === 'empty_topic_only' ? '' : cutText(`${fullName} moderation`, MAX_TOPIC_LENGTH, '...');
}

interface People {
  readonly reporter: User;
  readonly reported: User;
  /** The sender of the message and all members of the conversation, ascending by id. */
  readonly people: readonly User[];
}

function reportOf(message: PlacedMessage, people: People, reason: string): string {
  const quoted = cutText(message.content, MAX_MESSAGE_LENGTH - RESERVED, '\n[message truncated]');
  const fence = fenceFor(quoted);
  const sentAt = `<time:${message.sentAt.toISOString()}>`;
  return [
    `${silentMention(people.reporter)} reported ${whatOf(message, people)} at ${sentAt}.`,
    `${fenceFor(reason)}quote`,
    reason,
    fenceFor(reason),
    '',
    `${fence} spoiler ${headerOf(message)}`,
    quoted,
    fence,
  ].join('\n');
}

function whatOf({ channel }: PlacedMessage, { reporter, reported, people }: People): string {
  if (channel !== null) return `a message sent by ${silentMention(reported)}`;
  const recipients = people.filter(({ id }) => id !== reported.id).map(silentMention);
  const more = recipients.length - MAX_NAMED;
  const others = [...recipients.sort().slice(0, MAX_NAMED), ...(more > 0 ? [`${more} more`] : [])];
  const isGroup = people.length > 2;
  const to = isGroup || reporter.id === reported.id ? ` to ${listOf(others)}` : '';
  return `a direct message sent by ${silentMention(reported)}${others.length === 0 ? '' : to}`;
}

/** Formats a list: "a", "a and b", "a, b, and c". */
const listOf = (texts: readonly string[]): string => new Intl.ListFormat('en', { type: 'conjunction' }).format(texts);

function headerOf({ id, channel, conversation, topic }: PlacedMessage): string {
  if (channel !== null) return `Original message at ${topicLink(channel, topic, Number(id))}`;
  return `[Original message](${directAddress(conversation?.memberIds ?? [], Number(id))})`;
}
