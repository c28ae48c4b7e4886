import type { Ctx } from '../../access/context.ts';
import { type Emit, transact } from '../../events/log.ts';
import type { Reaction } from '../../generated/prisma/client.ts';
import {
  codeOf,
  completeEmoji,
  type EmojiCode,
  type EmojiReference,
  type NamedEmoji,
  requireEmoji,
} from '../../people/emoji/emoji.ts';
import type { Tx } from '../../platform/db/client.ts';
import { ValidationError } from '../../platform/errors.ts';
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
 * Adds a reaction of the viewer to a message. If another user has already reacted with the same emoji, the reaction gets the
 * same emoji name.
 *
 * @throws NotFoundError if the viewer cannot read the message, or its channel is archived.
 * @throws NotFoundError, ConflictError, ValidationError if the emoji does not exist, is deactivated, or its name, code and type
 *   do not match.
 * @throws ReactionAlreadyExistsError if the viewer has already reacted with this emoji.
 * @throws TotalReachedError if the viewer has 25 other reactions to the message, or if the message has 5,000 reactions or 100
 *   other emoji.
 */
export async function addReaction(ctx: Ctx, messageId: number, reference: EmojiReference): Promise<Reaction> {
  const { viewer } = ctx;
  return transact(ctx, async (tx, emit) => {
    const { message } = await lockMessages(tx, ctx, messageId, { mode: 'change_one' });
    const { organizationId } = message;
    // A message can have a reaction whose code is not in the emoji table. It is found by code before the table is read.
    const key = reference.name === undefined ? codeOf(reference) : await completeEmoji(tx, organizationId, reference);
    const there = await emojiThere(tx, message, key);
    const emoji = there ?? (await requireEmoji(tx, organizationId, { ...reference, ...key }));
    const data = { emojiName: emoji.name, emojiCode: emoji.code, reactionType: emoji.type };
    const mine = { organizationId, messageId: message.id, userId: viewer.id };
    const same = { ...mine, emojiCode: emoji.code, reactionType: emoji.type };
    if ((await tx.reaction.count({ where: same })) > 0) throw new ReactionAlreadyExistsError();
    const reaction = await tx.reaction.create({ data: { ...mine, ...data }, include: { user: true } });
    const { own, all, emoji: count, told } = await readReactions(tx, reaction);
    requireWithin('reactions_per_user_and_message', own);
    requireWithin('reactions_per_message', all);
    if (there === undefined) requireWithin('emoji_per_message', count);
    for (const { audience } of await recipientsOfChange(tx, ctx, message))
      emit(reactionAdded(reaction, told), audience);
    await followTopic(tx, emit, ctx, message);
    return reaction;
  });
}

/**
 * Sets the viewer's visibility policy for the topic of a message to which the viewer reacts. A reaction counts as
 * participation, so the viewer's settings for topics in which they participate decide the policy. If they do not make the topic
 * more visible, nothing changes.
 */
async function followTopic(tx: Tx, emit: Emit, { app, viewer }: Ctx, { channel, topic }: PlacedMessage): Promise<void> {
  if (channel === null) return;
  const subscription = await tx.subscription.findUnique({
    where: {
      organizationId_userId_channelId: {
        organizationId: viewer.organization.id,
        userId: viewer.id,
        channelId: channel.id,
      },
    },
    select: { isMuted: true, active: true },
  });
  const [topicPolicy = INHERITED] = await readPolicies(tx, viewer.organization.id, [
    { userId: viewer.id, channelId: channel.id, topic },
  ]);
  const isMuted = subscription?.active === true && subscription.isMuted;
  const policy = policyFor(viewer.user, 'participates', { isMuted, topicPolicy });
  if (policy === undefined) return;
  const place = { organization: viewer.organization, userId: viewer.id, now: app.now() };
  await setAutomaticPolicy(tx, emit, place, { channelId: channel.id, topic, policy });
}

/** Returns the recipients of a change of the reactions to a message. They include the viewer, even without a subscription. */
const recipientsOfChange = (tx: Tx, { viewer }: Ctx, message: PlacedMessage): Promise<RecipientGroup[]> =>
  recipientsOf(tx, viewer.organization, { ...message, ids: [Number(message.id)] }, viewer.id);

/**
 * Returns the given emoji with the name that it has in the message's first reaction with this emoji. The emoji may have been
 * deactivated or renamed since that reaction. Undefined if no reaction to the message has this emoji.
 */
async function emojiThere(tx: Tx, message: PlacedMessage, { code, type }: EmojiCode): Promise<NamedEmoji | undefined> {
  const there = await tx.reaction.findFirst({
    where: { organizationId: message.organizationId, messageId: message.id, emojiCode: code, reactionType: type },
    orderBy: { id: 'asc' },
  });
  return there === null ? undefined : { name: there.emojiName, code, type };
}

/**
 * Removes a reaction of the viewer from a message. @returns The removed reaction.
 *
 * @throws ValidationError if neither name nor code is given.
 * @throws NotFoundError if the viewer cannot read the message, or its channel is archived.
 * @throws NotFoundError or ValidationError if no emoji has the given name and type.
 * @throws ReactionDoesNotExistError if the viewer has not reacted with this emoji.
 */
export async function removeReaction(ctx: Ctx, messageId: number, emoji: EmojiReference): Promise<Reaction> {
  const { viewer } = ctx;
  if (emoji.name === undefined && emoji.code === undefined) {
    throw new ValidationError('At least one of the following arguments must be present: emoji_name, emoji_code', {
      parameter: 'emoji_name',
      schemaMessage: 'The name or the code of the emoji is required.',
    });
  }
  return transact(ctx, async (tx, emit) => {
    const { message } = await lockMessages(tx, ctx, messageId, { mode: 'change_one' });
    const mine = await tx.reaction.findMany({
      where: { organizationId: message.organizationId, messageId: message.id, userId: viewer.id },
      include: { user: true },
    });
    const wanted = await removed(tx, message.organizationId, mine, emoji);
    const reaction = mine.find(
      ({ emojiCode, reactionType }) => emojiCode === wanted.code && reactionType === wanted.type,
    );
    if (reaction === undefined) {
      throw new ReactionDoesNotExistError(emoji.code === undefined ? 'emoji_name' : 'emoji_code');
    }
    await tx.reaction.delete({
      where: { organizationId_id: { organizationId: reaction.organizationId, id: reaction.id } },
    });
    const { told } = await readReactions(tx, reaction);
    for (const { audience } of await recipientsOfChange(tx, ctx, message))
      emit(reactionRemoved(reaction, told), audience);
    return reaction;
  });
}

/**
 * Returns the emoji to remove. A name is first looked up among the viewer's reactions, because the emoji may have been
 * deactivated, or another emoji may have this name now.
 *
 * @throws NotFoundError or ValidationError if no emoji has the given name and type.
 */
async function removed(
  tx: Tx,
  organizationId: number,
  mine: readonly Reaction[],
  { name = '', code, type }: EmojiReference,
): Promise<EmojiCode> {
  if (code !== undefined) return codeOf({ code, type });
  const there = mine.find(
    ({ emojiName, reactionType }) => emojiName === name && reactionType === (type ?? reactionType),
  );
  if (there !== undefined) return { code: there.emojiCode, type: there.reactionType };
  return requireEmoji(tx, organizationId, { name, type });
}
