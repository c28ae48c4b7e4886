import type { Ctx } from '../../access/context.ts';
import { accessChannelContent, invalidChannelId } from '../../channels/access.ts';
import { userIdsReading } from '../../channels/audience.ts';
import { topicNamed } from '../../channels/topic-name.ts';
import { users } from '../../events/audience.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Organization } from '../../generated/prisma/client.ts';
import { lockUser } from '../../people/locks.ts';
import type { SqlClient, Tx } from '../../platform/db/client.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { isRowId } from '../../platform/ids.ts';
import { MAX_TOPIC_LENGTH } from '../../platform/limits.ts';
import { requireText } from '../../platform/text.ts';
import { requireWithin, TOTALS } from '../../platform/totals.ts';
import { topicPolicyChanged } from './events.ts';
import { publishMutedTopics } from './muted.ts';
import { FOLLOWED, INHERITED, isMoreVisible, MUTED, type TopicPolicy } from './policies.ts';
import {
  addFollowers,
  deletePolicies,
  deletePolicy,
  followersByMention,
  lockPolicies,
  lockPoliciesOfBoth,
  readPolicies,
  savePolicies,
  savePolicy,
  type TopicKey,
} from './queries.ts';

/** The organization and the user whose policies change, and the time of the change. */
export interface PolicyPlace {
  readonly organization: Organization;
  readonly userId: number;
  readonly now: Date;
}

/** A topic, and a user's policy for it. */
export interface TopicVisibility extends TopicKey {
  readonly policy: TopicPolicy;
}

/**
 * Sets the viewer's visibility policy for a topic and notifies the viewer's clients. The topic need not have messages. In a
 * channel that the viewer cannot read, only an existing policy can be removed, by setting `INHERITED`.
 *
 * @param topic Name of the topic, at most 60 code points.
 * @returns The policy that was set, with the stored name of the topic.
 * @throws NotFoundError if the channel does not exist. Also thrown if the viewer cannot read it, unless the call removes an
 *   existing policy.
 * @throws ValidationError if the topic is too long.
 * @throws TotalReachedError if the viewer would have policies for more than 10,000 topics.
 */
export async function setTopicVisibility(ctx: Ctx, { channelId, topic, policy }: TopicVisibility) {
  const { app, viewer } = ctx;
  const name = topicNamed(viewer.organization, requireText('topic', topic, { max: MAX_TOPIC_LENGTH }));
  const isReadable = await readable(ctx, channelId);
  if (!isReadable && policy !== INHERITED) throw invalidChannelId(channelId);
  await transact(ctx, async (tx, emit) => {
    await lockUser(tx, viewer.user);
    const place = { organization: viewer.organization, userId: viewer.id, now: app.now() };
    const [before] = isReadable
      ? await readPolicies(tx, viewer.organization.id, [{ userId: viewer.id, channelId, topic: name }])
      : [];
    const changed = await setTopicPolicy(tx, emit, place, { channelId, topic: name, policy });
    if (!changed && !isReadable) throw invalidChannelId(channelId);
    if (changed && before === INHERITED) {
      requireWithin(
        'user_topics',
        await tx.userTopic.count({ where: { organizationId: viewer.organization.id, userId: viewer.id } }),
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
    if (error instanceof NotFoundError) return false;
    throw error;
  }
}

/**
 * Maximum number of a user's topic policies up to which automatic policies are added. The remaining tenth of the total is
 * reserved for policies that users set themselves. This margin exceeds the number of messages that a user can send
 * concurrently, so the user's row need not be locked.
 */
const MAX_AUTOMATIC = 0.9 * TOTALS.user_topics.max;

/**
 * Maximum number of a user's topic policies up to which mentions add some. Half of `MAX_AUTOMATIC`, so that mentions by others do
 * not prevent automatic policies for the user's own messages.
 */
const MAX_BY_MENTION = MAX_AUTOMATIC / 2;

/** Returns whether a user can get another automatic policy: whether the user has fewer than `MAX_AUTOMATIC` topic policies. */
export const hasRoomForAutomaticPolicy = async (
  tx: Pick<Tx, 'userTopic'>,
  { id: userId, organizationId }: { readonly id: number; readonly organizationId: number },
): Promise<boolean> => (await tx.userTopic.count({ where: { organizationId, userId } })) < MAX_AUTOMATIC;

/**
 * Sets the policy that results from the user's involvement in a topic, for example from sending a message. Sets nothing if the
 * user has at least `MAX_AUTOMATIC` policies and none for this topic.
 *
 * @returns Whether the topic now has the policy.
 */
export async function setAutomaticPolicy(
  tx: Tx,
  emit: Emit,
  place: PolicyPlace,
  visibility: TopicVisibility,
): Promise<boolean> {
  const { userId, organization } = place;
  if (!(await hasRoomForAutomaticPolicy(tx, { id: userId, organizationId: organization.id }))) {
    const [before] = await readPolicies(tx, organization.id, [{ ...visibility, userId }]);
    if (before === INHERITED) return false;
  }
  await setTopicPolicy(tx, emit, place, visibility);
  return true;
}

/** Returns the users who automatically follow the topic of a new message because it mentions them by name. */
export const usersToFollow = (
  db: SqlClient,
  organizationId: number,
  topic: TopicKey,
  userIds: readonly number[],
): Promise<number[]> => followersByMention(db, organizationId, topic, userIds, MAX_BY_MENTION);

/** Makes users without a policy for a topic follow it, because a message mentions them, and notifies their clients. */
export async function followByMention(
  tx: Tx,
  emit: Emit,
  { organization, now }: Omit<PolicyPlace, 'userId'>,
  { channelId, topic }: TopicKey,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return;
  const following = await addFollowers(tx, organization.id, { channelId, topic }, userIds, now);
  if (following.length === 0) return;
  emit(topicPolicyChanged({ channelId, topic, policy: FOLLOWED, lastUpdated: now }, organization), users(following));
}

/**
 * Sets a user's visibility policy for a topic in the caller's transaction, and notifies the user's clients. The caller checks
 * access.
 *
 * @param topic Name of the topic, normalized by `topicNamed`.
 * @returns Whether the policy changed. If not, no event is sent.
 */
async function setTopicPolicy(
  tx: Tx,
  emit: Emit,
  { organization, userId, now }: PolicyPlace,
  { channelId, topic, policy }: TopicVisibility,
): Promise<boolean> {
  if (!isRowId(channelId)) return false;
  const topicOfUser = { organizationId: organization.id, userId, channelId, topic };
  const change =
    policy === INHERITED ? await deletePolicy(tx, topicOfUser) : await savePolicy(tx, topicOfUser, policy, now);
  if (change === undefined) return false;
  emit(topicPolicyChanged({ channelId, topic, policy, lastUpdated: now }, organization), users([userId]));
  // `was` is null if another transaction stored a policy concurrently. That policy may have been `MUTED`.
  if (policy === MUTED || (change.was ?? MUTED) === MUTED) await publishMutedTopics(tx, emit, organization, [userId]);
  return true;
}

/** Old and new location of a topic whose messages were all moved. Both topic names were normalized by `topicNamed`. */
export interface TopicMove {
  readonly fromChannelId: number;
  readonly fromTopic: string;
  readonly toChannelId: number;
  readonly toTopic: string;
  /** Whether the target topic had messages before the move. */
  readonly merging: boolean;
}

/**
 * Moves all users' policies for a topic, as part of the change that moves all of its messages, and notifies these users'
 * clients. If the target topic already has messages, the more visible of a user's two policies applies. Users who cannot read
 * the target channel lose the policy.
 */
export async function moveTopicPolicies(
  tx: Tx,
  emit: Emit,
  { organization, now }: Omit<PolicyPlace, 'userId'>,
  { fromChannelId, fromTopic, toChannelId, toTopic, merging }: TopicMove,
): Promise<void> {
  const rows = await lockPoliciesOfBoth(tx, organization.id, {
    source: { channelId: fromChannelId, topic: fromTopic },
    target: { channelId: toChannelId, topic: toTopic },
  });
  const leaving = rows.filter((row) => row.isSource).map((row) => row.userId);
  await clearPolicies(
    tx,
    emit,
    { organization, now },
    { channelId: fromChannelId, topic: fromTopic, userIds: leaving },
  );
  // This check is needed even if the channel does not change. Users who can no longer read the channel must not receive the new
  // names of its topics.
  const arriving = new Set(await readersOf(tx, { organization, now }, toChannelId, leaving));
  const wanted = [...Map.groupBy(rows, (row) => row.userId)].flatMap(([userId, held]) => {
    const source = arriving.has(userId) ? held.find((row) => row.isSource)?.policy : undefined;
    // If only the spelling of the name changes (letter case, Unicode form), one row is both source and target. That row was
    // deleted above, with the policies for the source.
    const target = held.find((row) => row.isTarget && !row.isSource)?.policy ?? INHERITED;
    const policy = merging ? mostVisible(source ?? INHERITED, target) : (source ?? target);
    return policy === target ? [] : [{ userId, policy }];
  });
  for (const [policy, entries] of Map.groupBy(wanted, (entry) => entry.policy)) {
    const userIds = entries.map((entry) => entry.userId);
    const place = { channelId: toChannelId, topic: toTopic, userIds };
    if (policy === INHERITED) await clearPolicies(tx, emit, { organization, now }, place);
    else await setPolicies(tx, emit, { organization, now }, { ...place, policy });
  }
  // The list of muted topics also changes if the policy for the target stays `MUTED`, because the source is no longer in the
  // list.
  const changed = new Set(wanted.map(({ userId }) => userId));
  const muting = rows.filter((row) => row.policy === MUTED && (row.isSource || changed.has(row.userId)));
  await publishMutedTopics(tx, emit, organization, [...new Set(muting.map((row) => row.userId))]);
}

const mostVisible = (a: TopicPolicy, b: TopicPolicy): TopicPolicy => (isMoreVisible(a, b) ? a : b);

async function readersOf(
  tx: Tx,
  { organization, now }: Omit<PolicyPlace, 'userId'>,
  channelId: number,
  userIds: readonly number[],
): Promise<number[]> {
  const channel = await tx.channel.findUniqueOrThrow({
    where: { organizationId_id: { organizationId: organization.id, id: channelId } },
  });
  return userIdsReading(tx, organization, channel, userIds, now);
}

/** A topic, and the users whose policies for it are set to one value. */
interface TopicHolders extends TopicKey {
  readonly userIds: readonly number[];
}

async function setPolicies(
  tx: Tx,
  emit: Emit,
  { organization, now }: Omit<PolicyPlace, 'userId'>,
  { channelId, topic, userIds, policy }: TopicHolders & { readonly policy: TopicPolicy },
): Promise<void> {
  await savePolicies(tx, organization.id, { channelId, topic }, userIds, policy, now);
  emit(topicPolicyChanged({ channelId, topic, policy, lastUpdated: now }, organization), users(userIds));
}

async function clearPolicies(
  tx: Tx,
  emit: Emit,
  { organization, now }: Omit<PolicyPlace, 'userId'>,
  { channelId, topic, userIds }: TopicHolders,
): Promise<void> {
  if (userIds.length === 0) return;
  await deletePolicies(tx, organization.id, { channelId, topic }, userIds);
  emit(topicPolicyChanged({ channelId, topic, policy: INHERITED, lastUpdated: now }, organization), users(userIds));
}

/** Deletes all users' policies for a topic that has no messages left, and notifies these users' clients. */
export async function clearTopicPolicies(
  tx: Tx,
  emit: Emit,
  { organization, now }: Omit<PolicyPlace, 'userId'>,
  { channelId, topic }: TopicKey,
): Promise<void> {
  const rows = await lockPolicies(tx, organization.id, { channelId, topic });
  const userIds = rows.map((row) => row.userId);
  await clearPolicies(tx, emit, { organization, now }, { channelId, topic, userIds });
  const muting = rows.filter((row) => row.policy === MUTED).map((row) => row.userId);
  await publishMutedTopics(tx, emit, organization, muting);
}
