import { builder } from '../../api/graphql/builder.ts';
export const ReactionTypeEnum = builder.enumType('ReactionType', {
  description: 'The namespace of an emoji code.',
  values: {
    UNICODE_EMOJI: { value: 'unicode_emoji', description: 'Code points in hex with dashes between them.' },
    REALM_EMOJI: { value: 'realm_emoji', description: "The id of one of the organization's own." },
    SERVICE_EXTRA_EMOJI: { value: 'service_extra_emoji', description: 'Its name.' },
  } as const,
});
