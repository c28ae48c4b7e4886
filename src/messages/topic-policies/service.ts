import type { Ctx } from '../../access/context.ts';
import { accessChannelContent, invalidChannelId } from '../../channels/access.ts';
import { userIdsReading } from '../../channels/audience.ts';
import { topicNamed } from '../../channels/topic-name.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Realm } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_TOPIC_LENGTH } from '../../platform/limits.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin, TOTALS } from '../../platform/totals.ts';
import { topicPolicyChanged } from './events.ts';
import { tellMutedTopics } from './muted.ts';
import { INHERITED, isMoreVisible, MUTED, type TopicPolicy } from './policies.ts';
import {
  deletePolicies,
  deletePolicy,
  lockPolicies,
  lockPoliciesOfBoth,
  readPolicies,
  savePolicies,
  savePolicy,
  type TopicKey,
} from './queries.ts';

/** Whose policies change, where and when. */
export interface PolicyPlace {
  readonly realm: Realm;
  readonly userId: number;
  readonly now: Date;
}

/** A topic, however its name is written, and how visible it is to be. */
export interface TopicVisibility extends TopicKey {
  readonly policy: TopicPolicy;
}

/**
 * Sets how visible a topic is to the viewer, and tells the viewer's clients. The topic need hold no message. `INHERITED`
 * is taken for a channel the viewer may not read as well, when there is something to take back.
 *
 * @param visibility `topic` is at most 60 code points.
 * @returns What was set, the topic's name as it is stored.
 * @throws BadRequestError when the channel is not there, or not the viewer's to read; or the topic's name is too long.
 * @throws TotalReachedError when there would be more than 10,000 topics with a policy.
 */
export async function setTopicVisibility(ctx: Ctx, { channelId, topic, policy }: TopicVisibility) {
  const { app, viewer } = ctx;
  const name = topicNamed(viewer.realm, requireText('topic', topic, { max: MAX_TOPIC_LENGTH }));
  const isReadable = await readable(ctx, channelId);
  if (!isReadable && policy !== INHERITED) throw invalidChannelId();
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const place = { realm: viewer.realm, userId: viewer.id, now: app.now() };
    const [before] = isReadable
      ? await readPolicies(tx, [{ realmId: viewer.realm.id, userId: viewer.id, channelId, topic: name }])
      : [];
    const changed = await setTopicPolicy(tx, emit, place, { channelId, topic: name, policy });
    if (!changed && !isReadable) throw invalidChannelId();
    if (changed && before === INHERITED) {
      requireWithin(
        'user_topics',
        await tx.userTopic.count({ where: { realmId: viewer.realm.id, userId: viewer.id } }),
      );
    }
  });
  return { channelId, topic: name, policy };
}

async function readable(ctx: Ctx, channelId: number): Promise<boolean> {
  try {
    await accessChannelContent(ctx, channelId);
    return true;
  } catch (error) {
    if (error instanceof BadRequestError) return false;
    throw error;
  }
}

/**
 * Our choice: what users do not ask for themselves leaves a tenth of what there may be to what they do. It is far from
 * the total however many messages they send at once, so their row need not be locked for it.
 */
const MAX_AUTOMATIC = 0.9 * TOTALS.user_topics.max;

/** Whether a user may be given one more policy that they have not asked for. */
export const hasRoomForAutomaticPolicy = async (
  tx: Pick<Tx, 'userTopic'>,
  { id: userId, realmId }: { readonly id: number; readonly realmId: number },
): Promise<boolean> => (await tx.userTopic.count({ where: { realmId, userId } })) < MAX_AUTOMATIC;

/**
 * As `setTopicPolicy`, for a policy that follows from the user's taking part in a topic: not to be had, it is no reason to
 * refuse what they do.
 *
 * @returns Whether the topic has the policy now.
 */
export async function setAutomaticPolicy(
  tx: Tx,
  emit: Emit,
  place: PolicyPlace,
  visibility: TopicVisibility,
): Promise<boolean> {
  const { userId, realm } = place;
  if (!(await hasRoomForAutomaticPolicy(tx, { id: userId, realmId: realm.id }))) {
    const [before] = await readPolicies(tx, [{ ...visibility, realmId: realm.id, userId }]);
    if (before === INHERITED) return false;
  }
  await setTopicPolicy(tx, emit, place, visibility);
  return true;
}

/**
 * Sets how visible a topic is to one user, as part of a change, and tells the user's clients. Whether they may is for
 * the caller to know.
 *
 * @param visibility `topic` as `topicNamed` has it.
 * @returns False when it was so already, and nobody is told anything.
 */
async function setTopicPolicy(
  tx: Tx,
  emit: Emit,
  { realm, userId, now }: PolicyPlace,
  { channelId, topic, policy }: TopicVisibility,
): Promise<boolean> {
  if (!isRowId(channelId)) return false;
  const topicOfUser = { realmId: realm.id, userId, channelId, topic };
  const change =
    policy === INHERITED ? await deletePolicy(tx, topicOfUser) : await savePolicy(tx, topicOfUser, policy, now);
  if (change === undefined) return false;
  emit(topicPolicyChanged({ channelId, topic, policy, lastUpdated: now }, realm), users([userId]));
  // Null: it came meanwhile, and may have been muted.
  if (policy === MUTED || (change.was ?? MUTED) === MUTED) await tellMutedTopics(tx, emit, realm, [userId]);
  return true;
}

/** A topic whose messages all went to another. Names as `topicNamed` has them. */
export interface TopicMove {
  readonly fromChannelId: number;
  readonly fromTopic: string;
  readonly toChannelId: number;
  readonly toTopic: string;
  /** Whether there were messages in the other topic before. */
  readonly merging: boolean;
}

/**
 * Takes everybody's policy of a topic along as the topic moves, as part of the change that moves all of it, and tells
 * each of those users' clients. Where the topic comes to stand among other messages, the most visible of a user's two
 * policies stays. Who may not read the channel it moves to keeps no policy of it.
 */
export async function moveTopicPolicies(
  tx: Tx,
  emit: Emit,
  { realm, now }: Omit<PolicyPlace, 'userId'>,
  { fromChannelId, fromTopic, toChannelId, toTopic, merging }: TopicMove,
): Promise<void> {
  const rows = await lockPoliciesOfBoth(tx, realm.id, {
    source: { channelId: fromChannelId, topic: fromTopic },
    target: { channelId: toChannelId, topic: toTopic },
  });
  const leaving = rows.filter((row) => row.isSource).map((row) => row.userId);
  await clearPolicies(tx, emit, { realm, now }, { channelId: fromChannelId, topic: fromTopic, userIds: leaving });
  // Of the same channel too: who has left it is not to hear what its topics are called by now.
  const arriving = new Set(await readersOf(tx, { realm, now }, toChannelId, leaving));
  const wanted = [...Map.groupBy(rows, (row) => row.userId)].flatMap(([userId, held]) => {
    const source = arriving.has(userId) ? held.find((row) => row.isSource)?.policy : undefined;
    // A row that is both, because only the case of the name changes, is gone by now.
    const target = held.find((row) => row.isTarget && !row.isSource)?.policy ?? INHERITED;
    const policy = merging ? mostVisible(source ?? INHERITED, target) : (source ?? target);
    return policy === target ? [] : [{ userId, policy }];
  });
  for (const [policy, entries] of Map.groupBy(wanted, (entry) => entry.policy)) {
    const userIds = entries.map((entry) => entry.userId);
    const place = { channelId: toChannelId, topic: toTopic, userIds };
    if (policy === INHERITED) await clearPolicies(tx, emit, { realm, now }, place);
    else await setPolicies(tx, emit, { realm, now }, { ...place, policy });
  }
  // Of a target that stays muted nothing changes, but its source is gone from the list all the same.
  const changed = new Set(wanted.map(({ userId }) => userId));
  const muting = rows.filter((row) => row.policy === MUTED && (row.isSource || changed.has(row.userId)));
  await tellMutedTopics(tx, emit, realm, [...new Set(muting.map((row) => row.userId))]);
}

const mostVisible = (a: TopicPolicy, b: TopicPolicy): TopicPolicy => (isMoreVisible(a, b) ? a : b);

async function readersOf(
  tx: Tx,
  { realm, now }: Omit<PolicyPlace, 'userId'>,
  channelId: number,
  userIds: readonly number[],
): Promise<number[]> {
  const channel = await tx.channel.findUniqueOrThrow({ where: { realmId_id: { realmId: realm.id, id: channelId } } });
  return userIdsReading(tx, realm, channel, userIds, now);
}

/** Users whose policy of one topic changes alike. */
interface TopicHolders extends TopicKey {
  readonly userIds: readonly number[];
}

async function setPolicies(
  tx: Tx,
  emit: Emit,
  { realm, now }: Omit<PolicyPlace, 'userId'>,
  { channelId, topic, userIds, policy }: TopicHolders & { readonly policy: TopicPolicy },
): Promise<void> {
  await savePolicies(tx, realm.id, { channelId, topic }, userIds, policy, now);
  emit(topicPolicyChanged({ channelId, topic, policy, lastUpdated: now }, realm), users(userIds));
}

async function clearPolicies(
  tx: Tx,
  emit: Emit,
  { realm, now }: Omit<PolicyPlace, 'userId'>,
  { channelId, topic, userIds }: TopicHolders,
): Promise<void> {
  if (userIds.length === 0) return;
  await deletePolicies(tx, realm.id, { channelId, topic }, userIds);
  emit(topicPolicyChanged({ channelId, topic, policy: INHERITED, lastUpdated: now }, realm), users(userIds));
}

/** Takes back everybody's policy of a topic that is no more, as part of a change, and tells each of them. */
export async function clearTopicPolicies(
  tx: Tx,
  emit: Emit,
  { realm, now }: Omit<PolicyPlace, 'userId'>,
  { channelId, topic }: TopicKey,
): Promise<void> {
  const rows = await lockPolicies(tx, realm.id, { channelId, topic });
  const userIds = rows.map((row) => row.userId);
  await clearPolicies(tx, emit, { realm, now }, { channelId, topic, userIds });
  const muting = rows.filter((row) => row.policy === MUTED).map((row) => row.userId);
  await tellMutedTopics(tx, emit, realm, muting);
}
