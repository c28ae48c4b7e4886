import { builder } from '../../api/graphql/builder.ts';
import { FOLLOWED, INHERITED, MUTED, UNMUTED } from './policies.ts';

export const TopicVisibility = builder.enumType('TopicVisibility', {
  description: 'How visible a topic is to a user.',
  values: {
    INHERIT: { value: INHERITED, description: 'As its channel is.' },
    MUTED: { value: MUTED, description: 'Hidden, and not counted as unread.' },
    UNMUTED: { value: UNMUTED, description: 'Visible, although its channel is muted.' },
    FOLLOWED: { value: FOLLOWED, description: 'Visible, and told of when something is written to it.' },
  } as const,
});
