import { builder } from '../../api/graphql/schema/builder.ts';

/** Description of an emoji code. The namespace of the code is in a field `reactionType` next to it. */
export const EMOJI_CODE =
  'Code of the emoji, in the form that `reactionType` determines: the code points in hexadecimal, separated by dashes ' +
  '("1f44d"), for UNICODE_EMOJI; the `databaseId` of the `CustomEmoji` for REALM_EMOJI; "team_chat" for SERVICE_EXTRA_EMOJI.';

export const ReactionTypeEnum = builder.enumType('ReactionType', {
  description: 'Namespace of an emoji code, which determines the form of the code.',
  values: {
    UNICODE_EMOJI: {
      value: 'unicode_emoji',
      description: 'Unicode emoji. The code is its code points in hexadecimal, separated by dashes: "1f44d".',
    },
    REALM_EMOJI: {
      value: 'realm_emoji',
      description: 'Custom emoji of the organization. The code is its `databaseId`.',
    },
    SERVICE_EXTRA_EMOJI: {
      value: 'service_extra_emoji',
      description: 'The emoji of the service that is not in Unicode. Its code is "team_chat".',
    },
  } as const,
});
