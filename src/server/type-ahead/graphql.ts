import { brandWithType } from '@pothos/core';
import { signedIn } from '../../access/context.ts';
import { UserGroup } from '../../administration/user-groups/graphql.ts';
import { builder } from '../../api/graphql/builder.ts';
import { refersTo } from '../../api/graphql/refs.ts';
import { Channel } from '../../channels/graphql.ts';
import { Topic } from '../../messages/topics/graphql.ts';
import { User } from '../../people/graphql.ts';
import { KINDS, type Kind, MAX_OF_EACH, suggest } from './service.ts';

const SuggestionKind = builder.enumType('SuggestionKind', {
  description: 'What a name can be of.',
  values: {
    USER: { value: 'User', description: 'Somebody who is not deactivated, bots included.' },
    CHANNEL: { value: 'Channel', description: 'A channel that the viewer sees and that is not archived.' },
    USER_GROUP: { value: 'UserGroup', description: 'A group that is not deactivated.' },
    TOPIC: { value: 'Topic', description: 'A topic of the channel that is named, of the 1,000 last written to.' },
  } as const,
});

const Suggestion = builder.unionType('Suggestion', {
  description: 'What somebody may mean who begins to write a name.',
  types: [User, Channel, UserGroup, Topic],
});

/** Our choice: what fits below a line that is being written. */
const DEFAULT_OF_EACH = 5;

const sizeOf = ({ first, kinds }: { first?: number | null | undefined; kinds?: readonly Kind[] | null | undefined }) =>
  Math.max(1, Math.min(first ?? DEFAULT_OF_EACH, MAX_OF_EACH)) * (kinds ?? KINDS).length;

builder.queryField('suggestions', (t) =>
  t.field({
    type: [Suggestion],
    nullable: { list: true, items: false },
    description:
      'What the viewer may mean who begins to write a name: of each kind those whose name begins so, then those in whose ' +
      'name a later word does; by name, and topics the one last written to first. At most `first` of each kind.',
    args: {
      text: t.arg.string({ description: 'What is written by now, in whatever case: at most 100 characters, or none.' }),
      kinds: t.arg({
        type: [SuggestionKind],
        required: false,
        description: 'Of which kinds, in their order. Absent: of all.',
      }),
      channelId: t.arg.id({
        ...refersTo('Channel'),
        required: false,
        description: 'The channel whose topics are meant; without it there are none.',
      }),
      first: t.arg.int({
        required: false,
        description: `How many of each kind, from 1 to ${MAX_OF_EACH}: ${DEFAULT_OF_EACH} when absent.`,
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
