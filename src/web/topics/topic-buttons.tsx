import { useClient } from 'urql';
import { useData } from '../api/use-data.ts';
import { TopicBarDocument } from '../generated/graphql.ts';
import { type TopicPlace, topicRef } from '../routing/place.ts';
import { IconButton } from '../ui/button.tsx';
import { resolve, setVisibility } from './topic-actions.ts';

/** Buttons that resolve, follow and mute a topic. Narrow screens have them in the menu of the topic only. */
export function TopicButtons(place: TopicPlace) {
  const client = useClient();
  const { data } = useData(TopicBarDocument, { by: topicRef(place) });
  const topic = data?.topic;
  if (!topic?.lastMessage) return null;
  const { isResolved, viewerCanResolve, viewerVisibility } = topic;
  const [isFollowed, isMuted] = [viewerVisibility === 'FOLLOWED', viewerVisibility === 'MUTED'];
  const change = (visibility: 'FOLLOWED' | 'MUTED' | 'INHERIT') => void setVisibility(client, place, visibility);
  return (
    <div className="topic-buttons">
      {viewerCanResolve && (
        <IconButton
          icon="check"
          label={isResolved ? 'Mark as unresolved' : 'Mark as resolved'}
          aria-pressed={isResolved}
          onClick={() => void resolve(client, topic, !isResolved)}
        />
      )}
      <IconButton
        icon="bell"
        label={isFollowed ? 'Unfollow topic' : 'Follow topic'}
        aria-pressed={isFollowed}
        onClick={() => change(isFollowed ? 'INHERIT' : 'FOLLOWED')}
      />
      <IconButton
        icon="muted"
        label={isMuted ? 'Unmute topic' : 'Mute topic'}
        aria-pressed={isMuted}
        onClick={() => change(isMuted ? 'INHERIT' : 'MUTED')}
      />
    </div>
  );
}
