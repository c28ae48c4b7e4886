import { builder } from '../../api/graphql/schema/builder.ts';
export const ReactionTypeEnum = builder.enumType('ReactionType', {
  description: 'Namespace of an emoji code.',
  values: {
    UNICODE_EMOJI: {
      value: 'unicode_emoji',
      description: 'Code points of a Unicode emoji in hexadecimal, separated by dashes.',
    },
    REALM_EMOJI: { value: 'realm_emoji', description: 'Id of a custom emoji of the organization.' },
    SERVICE_EXTRA_EMOJI: { value: 'service_extra_emoji', description: 'Name of an emoji of the service.' },
  } as const,
});
