import type { Ctx } from '../../access/context.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Reaction } from '../../generated/prisma/client.ts';
import {
  completeEmoji,
  type EmojiReference,
  type NamedEmoji,
  normalCode,
  requireEmoji,
  requireWhole,
} from '../../people/emoji/emoji.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { requireWithin } from '../../platform/totals.ts';
import type { PlacedMessage } from '../access.ts';
import { type RecipientGroup, recipientsOf } from '../audience.ts';
import { lockMessages } from '../locks.ts';
import { policyFor } from '../topic-policies/automatic.ts';
import { INHERITED } from '../topic-policies/policies.ts';
import { readPolicies } from '../topic-policies/queries.ts';
import { setAutomaticPolicy } from '../topic-policies/service.ts';
import { ReactionAlreadyExistsError, ReactionDoesNotExistError } from './errors.ts';
import { reactionAdded, reactionRemoved } from './events.ts';
import { readReactions } from './queries.ts';

/**
 * Adds a reaction of the viewer to a message. If the message already has the emoji, the reaction gets the name that the emoji
 * has there.
 *
 * @throws BadRequestError if the viewer cannot read the message, if its channel is archived, or if the emoji does not exist.
 * @throws ReactionAlreadyExistsError if the viewer has already reacted with this emoji.
 * @throws TotalReachedError if the viewer has 25 other reactions to the message, or if the message has 5,000 reactions or 100
 * other emoji.
 */
export async function addReaction(ctx: Ctx, messageId: number, reference: EmojiReference): Promise<Reaction> {
  const { viewer } = ctx;
  return transact(ctx, async (tx, emit) => {
    const { message } = await lockMessages(tx, ctx, messageId, { mode: 'change_one' });
    const named = await completeEmoji(tx, message.realmId, reference);
    const there = await emojiThere(tx, message, named);
    const emoji = there ?? (await requireWhole(tx, message.realmId, named));
    const data = { emojiName: emoji.name, emojiCode: emoji.code, reactionType: emoji.type };
    const key = { realmId: message.realmId, messageId: message.id, userId: viewer.id };
    const same = { ...key, emojiCode: emoji.code, reactionType: emoji.type };
    if ((await tx.reaction.count({ where: same })) > 0) throw new ReactionAlreadyExistsError();
    const reaction = await tx.reaction.create({ data: { ...key, ...data }, include: { user: true } });
    const { own, all, emoji: count, told } = await readReactions(tx, reaction);
    requireWithin('reactions_per_user_and_message', own);
    requireWithin('reactions_per_message', all);
    if (there === undefined) requireWithin('emoji_per_message', count);
    for (const { audience } of await hearingsOfOne(tx, ctx, message)) emit(reactionAdded(reaction, told), audience);
    await followTopic(tx, emit, ctx, message);
    return reaction;
  });
}

/**
 * Sets the viewer's policy for the topic according to their settings for topics in which they participate. A reaction counts as
 * participation.
 */
async function followTopic(tx: Tx, emit: Emit, { app, viewer }: Ctx, { channel, topic }: PlacedMessage): Promise<void> {
  if (channel === null) return;
  const subscription = await tx.subscription.findUnique({
    where: { realmId_userId_channelId: { realmId: viewer.realm.id, userId: viewer.id, channelId: channel.id } },
    select: { isMuted: true, active: true },
  });
  const [topicPolicy = INHERITED] = await readPolicies(tx, [
    { realmId: viewer.realm.id, userId: viewer.id, channelId: channel.id, topic },
  ]);
  const isMuted = subscription?.active === true && subscription.isMuted;
  const policy = policyFor(viewer.user, 'participates', { isMuted, topicPolicy });
  if (policy === undefined) return;
  const place = { realm: viewer.realm, userId: viewer.id, now: app.now() };
  await setAutomaticPolicy(tx, emit, place, { channelId: channel.id, topic, policy });
}

/** Returns the recipients of a change of the reactions to a message. They include the viewer, even without a subscription. */
const hearingsOfOne = (tx: Tx, { viewer }: Ctx, message: PlacedMessage): Promise<RecipientGroup[]> =>
  recipientsOf(tx, viewer.realm, { ...message, ids: [Number(message.id)] }, viewer.id);

/**
 * Returns the emoji as the message already has it, even if it was deactivated or renamed since. Undefined if the message does
 * not have it.
 */
async function emojiThere(tx: Tx, message: PlacedMessage, { code, type }: NamedEmoji): Promise<NamedEmoji | undefined> {
  const there = await tx.reaction.findFirst({
    where: { realmId: message.realmId, messageId: message.id, emojiCode: code, reactionType: type },
    orderBy: { id: 'asc' },
  });
  return there === null ? undefined : { name: there.emojiName, code, type };
}

/** Emoji of the reaction to remove, given by its name, or by its code and type. */
export interface RemovedEmoji {
  readonly name?: string | undefined;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
}

/**
 * Removes a reaction of the viewer from a message.
 *
 * @throws BadRequestError if neither name nor code is given, or if the emoji does not exist.
 * @throws BadRequestError if the viewer cannot read the message, or if its channel is archived.
 * @throws ReactionDoesNotExistError if the viewer has not reacted with this emoji.
 */
export async function removeReaction(ctx: Ctx, messageId: number, emoji: RemovedEmoji): Promise<void> {
  const { viewer } = ctx;
  if (emoji.name === undefined && emoji.code === undefined) {
    throw new BadRequestError('At least one of the following arguments must be present: emoji_name, emoji_code');
  }
  await transact(ctx, async (tx, emit) => {
    const { message } = await lockMessages(tx, ctx, messageId, { mode: 'change_one' });
    const mine = await tx.reaction.findMany({
      where: { realmId: message.realmId, messageId: message.id, userId: viewer.id },
      include: { user: true },
    });
    const wanted = await removed(tx, message.realmId, mine, emoji);
    const reaction = mine.find(
      ({ emojiCode, reactionType }) => emojiCode === wanted.code && reactionType === wanted.type,
    );
    if (reaction === undefined) throw new ReactionDoesNotExistError();
    await tx.reaction.delete({ where: { realmId_id: { realmId: reaction.realmId, id: reaction.id } } });
    const { told } = await readReactions(tx, reaction);
    for (const { audience } of await hearingsOfOne(tx, ctx, message)) emit(reactionRemoved(reaction, told), audience);
  });
}

/**
 * Returns the emoji to remove. A name is first looked up among the viewer's reactions, because the emoji may have been
 * deactivated, or another emoji may have its name now.
 *
 * @throws BadRequestError if the name is unknown.
 */
async function removed(
  tx: Tx,
  realmId: number,
  mine: readonly Reaction[],
  { name = '', code, type }: RemovedEmoji,
): Promise<Pick<NamedEmoji, 'code' | 'type'>> {
  if (code !== undefined) {
    const known = type ?? 'unicode_emoji';
    return { code: normalCode(code, known), type: known };
  }
  const there = mine.find(
    ({ emojiName, reactionType }) => emojiName === name && reactionType === (type ?? reactionType),
  );
  if (there !== undefined) return { code: there.emojiCode, type: there.reactionType };
  return requireEmoji(tx, realmId, { name, type });
}
