import { builder } from '../../api/graphql/schema/builder.ts';
import { FOLLOWED, INHERITED, MUTED, UNMUTED } from './policies.ts';

export const TopicVisibility = builder.enumType('TopicVisibility', {
  description: 'Visibility policy of a user for a topic.',
  values: {
    INHERIT: { value: INHERITED, description: 'As visible as the channel.' },
    MUTED: { value: MUTED, description: 'Hidden. Its messages are not counted as unread.' },
    UNMUTED: { value: UNMUTED, description: 'Visible even if the channel is muted.' },
    FOLLOWED: { value: FOLLOWED, description: 'Visible. The user is notified of new messages.' },
  } as const,
});
