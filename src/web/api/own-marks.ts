import type { CacheExchangeOpts, OptimisticMutationResolver } from '@urql/exchange-graphcache';
import { gql } from 'urql';
import type { AddReactionInput, MessageRowFragment, UpdateMessageFlagsInput } from '../generated/graphql.ts';
import { ownId } from './fields.ts';

type Group = MessageRowFragment['reactionGroups'][number];

const REACTED = gql`fragment OwnReaction on Message {
  id
  reactionGroups { emojiName emojiCode reactionType count viewerHasReacted users { id } }
}`;

/** Returns the reactions to a message after the viewer has added or removed one. */
function reacted(groups: readonly Group[], own: Group, isAdded: boolean): readonly Group[] {
  const isSame = (one: Group) => one.emojiCode === own.emojiCode && one.reactionType === own.reactionType;
  if (isAdded && !groups.some(isSame)) return [...groups, own];
  return groups.flatMap((group) => {
    if (!isSame(group) || group.viewerHasReacted === isAdded) return group;
    const others = group.users.filter(({ id }) => id !== own.users[0]?.id);
    const count = group.count + (isAdded ? 1 : -1);
    const users = isAdded ? [...others, ...own.users] : others;
    return count === 0 ? [] : { ...group, count, viewerHasReacted: isAdded, users };
  });
}

/**
 * Returns the optimistic result of a mutation of reactions. The mutation names the emoji by its code, so the name is an
 * additional variable, which the cache does not send.
 */
const reacting =
  (__typename: string, isAdded: boolean): OptimisticMutationResolver =>
  ({ input }, cache, { variables }) => {
    const { messageId: id, emoji } = input as AddReactionInput;
    const message = cache.readFragment(REACTED, { __typename: 'Message', id }) as { reactionGroups: Group[] } | null;
    if (message === null || emoji?.code == null) return null;
    const users = [{ __typename: 'User' as const, id: ownId(cache) }];
    const emojiName = String(variables['emojiName']);
    const own = {
      __typename: 'ReactionGroup' as const,
      emojiName,
      ...emoji.code,
      count: 1,
      viewerHasReacted: true,
      users,
    };
    const changedMessage = { __typename: 'Message', id, reactionGroups: reacted(message.reactionGroups, own, isAdded) };
    return { __typename, changedMessage } as never;
  };

/**
 * Optimistic results of mutations: reactions and stars of the viewer are shown at once. The response contains the new state. If
 * the service refuses the change, the cache reverts it.
 */
export const optimistic: NonNullable<CacheExchangeOpts['optimistic']> = {
  addReaction: reacting('AddReactionPayload', true),
  removeReaction: reacting('RemoveReactionPayload', false),
  updateMessageFlags({ input }) {
    const { messageIds, flag, operation } = input as UpdateMessageFlagsInput;
    const state = flag === 'STARRED' ? { viewerHasStarred: operation === 'ADD' } : {};
    const changedMessages = messageIds.map((id) => ({ __typename: 'Message', id, ...state }));
    const change = { __typename: 'MessageFlagChange', changedMessages };
    return { __typename: 'UpdateMessageFlagsPayload', change } as never;
  },
};
