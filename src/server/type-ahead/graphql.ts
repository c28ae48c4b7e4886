import { brandWithType } from '@pothos/core';
import { signedIn } from '../../access/context.ts';
import { UserGroup } from '../../administration/user-groups/graphql.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { Topic } from '../../messages/topics/graphql.ts';
import { User } from '../../people/graphql.ts';
import { KINDS, type Kind, MAX_OF_EACH, suggest } from './service.ts';

const SuggestionKind = builder.enumType('SuggestionKind', {
  description: 'Kind of a suggestion.',
  values: {
    USER: { value: 'User', description: 'Active users, including bots.' },
    CHANNEL: { value: 'Channel', description: 'Channels that the viewer can see, except archived ones.' },
    USER_GROUP: { value: 'UserGroup', description: 'Active user groups.' },
    TOPIC: { value: 'Topic', description: 'Topics of the given channel, among the 1,000 with the newest messages.' },
  } as const,
});

const Suggestion = builder.unionType('Suggestion', {
  description: 'A user, channel, user group or topic whose name matches the typed text.',
  types: [User, Channel, UserGroup, Topic],
});

/** Default number of suggestions of each kind: this many fit below an input field. */
const DEFAULT_OF_EACH = 5;

const sizeOf = ({ first, kinds }: { first?: number | null | undefined; kinds?: readonly Kind[] | null | undefined }) =>
  Math.max(1, Math.min(first ?? DEFAULT_OF_EACH, MAX_OF_EACH)) * (kinds ?? KINDS).length;

builder.queryField('suggestions', (t) =>
  t.field({
    type: [Suggestion],
    nullable: { list: true, items: false },
    description:
      'Suggestions for a name that the viewer is typing. For each kind, names that begin with the text come first, ' +
      'then names in which each word of the text begins a word. Within both groups, topics are sorted by their newest ' +
      'message, and the other kinds by name. Case, accents and punctuation are ignored. In scripts without spaces, a ' +
      'word begins at every letter. At most `first` of each kind.',
    args: {
      text: t.arg.string({ description: 'The typed text, at most 100 characters. Can be empty.' }),
      kinds: t.arg({
        type: [SuggestionKind],
        required: false,
        description: 'Kinds of suggestions, in the order of the result. Default: all.',
      }),
      channelId: t.arg.id({
        ...refersTo('Channel'),
        required: false,
        description: 'Id of the channel whose topics are suggested. If absent, no topics are suggested.',
      }),
      first: t.arg.int({
        required: false,
        description: `Number of suggestions of each kind, from 1 to ${MAX_OF_EACH}. Default: ${DEFAULT_OF_EACH}.`,
      }),
    },
    complexity: (args) => ({ field: 1, multiplier: sizeOf(args) }),
    resolve: async (_root, { text, kinds, channelId, first }, ctx) => {
      const found = await suggest(signedIn(ctx), {
        ...{ text, kinds: [...new Set(kinds ?? KINDS)] },
        ...{ channelId: channelId ?? undefined, limit: first ?? DEFAULT_OF_EACH },
      });
      for (const { kind, found: row } of found) brandWithType(row, kind as never);
      return found.map(({ found: row }) => row) as never;
    },
  }),
);
