import { memo } from 'react';
import type { SidebarConversationFragment } from '../generated/graphql.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Count } from '../ui/count.tsx';
import { namesOf, PresenceDot, StatusEmoji } from '../ui/person.tsx';

interface Props {
  readonly conversation: SidebarConversationFragment;
  readonly viewerId: string;
}

/**
 * A direct conversation in the sidebar, named after the participants except the viewer. Notes to self are named after the
 * viewer.
 */
export const DirectRow = memo(({ conversation: { participants, unreadCount }, viewerId }: Props) => {
  const others = participants.filter(({ id }) => id !== viewerId);
  const shown = others.length > 0 ? others : participants;
  const [only] = shown.length === 1 ? shown : [];
  return (
    <li>
      <Link
        className="sidebar-row"
        to={addressOf({ name: 'direct', userIds: shown.map(({ id }) => id) })}
        data-unread={unreadCount > 0}
      >
        {only === undefined ? <span className="presence-many">{shown.length}</span> : <PresenceDot person={only} />}
        <span className="sidebar-name">{namesOf(shown)}</span>
        {only !== undefined && <StatusEmoji status={only.status} />}
        <Count value={unreadCount} />
      </Link>
    </li>
  );
});
