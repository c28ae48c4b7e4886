import { isSameTopic } from '../api/narrow.ts';
import { onEvent } from '../live/engine.ts';
import { currentRoute, navigate } from '../routing/router.tsx';
import { addressOf, decoded } from '../routing/routes.ts';
import { isSameButResolved } from './topic-actions.ts';

/** Whoever looks at a topic goes on looking at it when somebody marks it as resolved. @returns What ends it. */
export function followRenames(): () => void {
  return onEvent((event) => {
    const route = currentRoute();
    if (event.__typename !== 'MessageUpdatedEvent' || route.name !== 'channel' || route.topic === undefined) return;
    const { origTopicName, origChannel, messages } = event;
    const { topic, channelId } = route;
    if (origTopicName === null || origChannel?.id !== channelId || !isSameTopic(origTopicName, topic)) return;
    const renamed = messages.find((message) => message?.channel?.id === channelId)?.topicName;
    if (renamed === undefined || renamed === topic || !isSameButResolved(renamed, topic)) return;
    const [, , , slug] = location.pathname.split('/');
    navigate(addressOf({ name: 'channel', channelId, topic: renamed }, decoded(slug ?? '')), {
      replace: true,
    });
  });
}
