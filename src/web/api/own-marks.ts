import type { Cache, UpdateResolver } from '@urql/exchange-graphcache';
import { gql } from 'urql';
import type {
  AddReactionInput,
  EmojiCodeInput,
  MessageRowFragment,
  RemoveReactionInput,
  UpdateMessageFlagsInput,
} from '../generated/graphql.ts';
import { ownId } from './own-id.ts';

// Reactions and stars of the viewer are shown immediately, before the service responds. They are reverted if the service
// refuses them. If it accepts them, the event that follows writes these values again, and nothing changes on the screen.

/** A reaction group as the cache stores it, with type names. */
type Group = Omit<MessageRowFragment['reactionGroups'][number], 'users'> & {
  readonly __typename?: 'ReactionGroup';
  readonly users: readonly { readonly __typename?: 'User'; readonly id: string }[];
};

const REACTED = gql`fragment OwnReaction on Message {
  id
  reactionGroups { emojiName emojiCode reactionType count viewerHasReacted users { id } }
}`;
const STARRED = gql`fragment OwnStar on Message { id viewerHasStarred }`;

function changeReactions(
  cache: Cache,
  messageId: string,
  change: (groups: Group[], viewerId: string) => Group[],
): void {
  const message: { reactionGroups: Group[] } | null = cache.readFragment(REACTED, {
    __typename: 'Message',
    id: messageId,
  });
  if (message === null) return;
  const reactionGroups = change(message.reactionGroups, ownId(cache));
  cache.writeFragment(REACTED, { __typename: 'Message', id: messageId, reactionGroups });
}

const isOf =
  ({ emojiCode, reactionType }: Pick<AddReactionInput, 'emojiCode' | 'reactionType'>) =>
  (group: Group) =>
    group.emojiCode === emojiCode && group.reactionType === reactionType;

const user = (id: string) => ({ __typename: 'User', id }) as const;

function added(groups: Group[], input: AddReactionInput, viewerId: string): Group[] {
  const { emojiName, emojiCode = '', reactionType } = input;
  if (!groups.some(isOf(input))) {
    const emoji = { emojiName, emojiCode: emojiCode ?? '', reactionType: reactionType ?? 'UNICODE_EMOJI' } as const;
    const group = { ...emoji, count: 1, viewerHasReacted: true, users: [user(viewerId)] };
    return [...groups, { __typename: 'ReactionGroup', ...group }];
  }
  return groups.map((group) =>
    isOf(input)(group) && !group.viewerHasReacted
      ? { ...group, count: group.count + 1, viewerHasReacted: true, users: [...group.users, user(viewerId)] }
      : group,
  );
}

const removed = (groups: Group[], emoji: EmojiCodeInput, viewerId: string): Group[] =>
  groups
    .map((group) =>
      isOf(emoji)(group) && group.viewerHasReacted
        ? {
            ...group,
            count: group.count - 1,
            viewerHasReacted: false,
            users: group.users.filter(({ id }) => id !== viewerId),
          }
        : group,
    )
    .filter(({ count }) => count > 0);

const succeeded = (result: Record<string, unknown>, field: string): boolean =>
  String((result[field] as { readonly __typename?: string }).__typename).endsWith('Payload');

/**
 * Cache updates of the mutations for reactions and stars. They run when the mutation is sent, and again when the response
 * arrives.
 */
export const ownMarks: Readonly<Record<string, UpdateResolver>> = {
  addReaction(result, args, cache) {
    const input = args['input'] as AddReactionInput;
    if (!succeeded(result, 'addReaction')) return;
    changeReactions(cache, String(input.messageId), (groups, viewerId) => added(groups, input, viewerId));
  },
  removeReaction(result, args, cache) {
    const { messageId, emoji } = args['input'] as RemoveReactionInput;
    const { code } = emoji;
    if (code === undefined || !succeeded(result, 'removeReaction')) return;
    changeReactions(cache, String(messageId), (groups, viewerId) => removed(groups, code, viewerId));
  },
  updateMessageFlags(result, args, cache) {
    const { messageIds, flag, operation } = args['input'] as UpdateMessageFlagsInput;
    if (flag !== 'STARRED' || !succeeded(result, 'updateMessageFlags')) return;
    const viewerHasStarred = operation === 'ADD';
    for (const id of messageIds) cache.writeFragment(STARRED, { __typename: 'Message', id, viewerHasStarred });
  },
};

/** Optimistic results, used until the response arrives. */
export const optimistic = {
  addReaction: () => ({ __typename: 'AddReactionPayload' }),
  removeReaction: () => ({ __typename: 'RemoveReactionPayload' }),
  updateMessageFlags: () => ({ __typename: 'UpdateMessageFlagsPayload' }),
};
