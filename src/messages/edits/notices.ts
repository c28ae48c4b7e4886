import type { Runtime } from '../../access/context.ts';
import { userSetting } from '../../access/user-settings.ts';
import type { Emit } from '../../events/log.ts';
import type { Organization, Prisma, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { silentMention, topicAddress, topicLink } from '../sending/links.ts';
import { notify } from '../sending/notices.ts';
import { FOLLOWED, literal } from '../topic-policies/policies.ts';
import { type DeletionPlace, deleteMessages } from './delete.ts';
import type { MessageMove } from './plan.ts';

/**
 * If a topic is resolved and unresolved (or the reverse) within this many seconds, the notice of the first change is deleted.
 */
const UNDO_SECONDS = 60;

const RESOLUTIONS = {
  resolved: 'has marked this topic as resolved.',
  unresolved: 'has marked this topic as unresolved.',
} as const;

const OPPOSITE = { resolved: 'unresolved', unresolved: 'resolved' } as const;

/**
 * Deletes the notice that a topic was resolved or unresolved, if the opposite change follows within a minute.
 *
 * @returns Id of the deleted notice. Undefined if none was deleted.
 */
export async function deleteOppositeNotice(
  tx: Tx,
  emit: Emit,
  place: DeletionPlace,
  { from, resolution, isWhole, ids }: MessageMove,
): Promise<number | undefined> {
  const lastId = ids.at(-1);
  // The notice is not deleted if it is the only message of the topic.
  if (resolution === null || !isWhole || lastId === undefined || ids.length === 1) return undefined;
  const last = await tx.message.findUniqueOrThrow({
    where: { organizationId_id: { organizationId: from.organizationId, id: lastId } },
    include: { sender: { select: { isSystem: true } } },
  });
  const age = place.now.getTime() - last.sentAt.getTime();
  const isNotice = last.sender.isSystem && last.content.endsWith(` ${RESOLUTIONS[OPPOSITE[resolution]]}`);
  if (!isNotice || age > UNDO_SECONDS * 1000) return undefined;
  await deleteMessages(tx, emit, place, [lastId]);
  return lastId;
}

/** Kinds of notices to send about a move. */
interface NoticeChoice {
  readonly oldTopic: boolean;
  readonly newTopic: boolean;
  /** Whether to send the notice that the topic was resolved or unresolved. */
  readonly resolution: boolean;
}

/** Sends the selected notices of a move to the old and the new topic, as the notification bot. */
export async function sendNotices(
  tx: Tx,
  emit: Emit,
  app: { readonly app: Runtime; readonly organization: Organization },
  mover: User,
  move: MessageMove,
  choice: NoticeChoice,
): Promise<void> {
  const { from, to, oldTopic, topic, resolution, isWhole } = move;
  const who = silentMention(mover);
  const here = { channelId: to.id, topic };
  if (resolution !== null && isWhole) {
    if (choice.resolution) await sendResolutionNotice(tx, emit, app, here, `${who} ${RESOLUTIONS[resolution]}`);
  } else if (choice.newTopic) {
    const origin = `moved here from ${topicLink(from, oldTopic)} by ${who}.`;
    await notify(tx, emit, app, here, `${whatCame(move)} ${origin}`);
  }
  if (choice.oldTopic) {
    const goal = `to ${topicLink(to, topic)} by ${who}.`;
    await notify(tx, emit, app, { channelId: from.id, topic: oldTopic }, `${whatWent(move)} ${goal}`);
  }
}

/**
 * Sends the notice that a topic was resolved or unresolved. Users' settings determine for whom the notice is marked as read
 * when it is sent. By default, it is marked as read for all users except those who follow the topic.
 */
async function sendResolutionNotice(
  tx: Tx,
  emit: Emit,
  app: { readonly app: Runtime; readonly organization: Organization },
  here: { readonly channelId: number; readonly topic: string },
  content: string,
): Promise<void> {
  const subscribers = await tx.$queryRaw<{ id: number; settings: Prisma.JsonValue; is_followed: boolean }[]>`
    SELECT u.id, u.settings, COALESCE(t.policy = ${literal(FOLLOWED)}, false) AS is_followed
    FROM subscription s JOIN user_account u ON u.realm_id = s.realm_id AND u.id = s.user_id
    LEFT JOIN user_topic t ON t.realm_id = u.realm_id AND t.user_id = u.id AND t.channel_id = s.channel_id AND topic_key(t.topic) = topic_key(${here.topic})
    WHERE s.realm_id = ${app.organization.id} AND s.channel_id = ${here.channelId} AND s.active`;
  const readers = subscribers.filter(({ settings, is_followed }) => {
    const policy = userSetting({ settings }, 'resolved_topic_notice_auto_read_policy');
    return policy === 'always' || (policy === 'except_followed' && !is_followed);
  });
  const readBy = readers.map(({ id }) => id);
  await notify(tx, emit, app, here, content, undefined, readBy);
}

function whatCame({ isWhole, ids, to, topic }: MessageMove): string {
  if (isWhole) return 'This topic was';
  if (ids.length === 1) return `[A message](${topicAddress(to, topic, ids[0])}) was`;
  return `${ids.length} messages were`;
}

function whatWent({ isWhole, ids }: MessageMove): string {
  if (isWhole) return 'This topic was moved';
  return ids.length === 1 ? 'A message was moved from this topic' : `${ids.length} messages were moved from this topic`;
}
