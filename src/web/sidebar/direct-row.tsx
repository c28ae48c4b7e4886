import { memo } from 'react';
import type { SidebarConversationFragment } from '../generated/graphql.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Count } from '../ui/count.tsx';
import { AvatarWithPresence, namesOf, StatusEmoji } from '../ui/person.tsx';

interface Props {
  readonly conversation: SidebarConversationFragment;
  readonly viewerId: string;
}

/** Returns the participants except the viewer; the viewer for notes to self. */
export function othersIn({ participants }: Pick<SidebarConversationFragment, 'participants'>, viewerId: string) {
  const others = participants.filter(({ id }) => id !== viewerId);
  return others.length > 0 ? others : participants;
}

/** A direct conversation in the sidebar, named after the participants except the viewer. */
export const DirectRow = memo(({ conversation, viewerId }: Props) => {
  const { unreadCount } = conversation;
  const shown = othersIn(conversation, viewerId);
  const [only] = shown.length === 1 ? shown : [];
  return (
    <li>
      <Link
        className="sidebar-row"
        to={addressOf({ name: 'direct', userIds: shown.map(({ id }) => id) })}
        data-unread={unreadCount > 0}
      >
        {only === undefined ? (
          <span className="presence-many">{shown.length}</span>
        ) : (
          <AvatarWithPresence person={only} size={20} />
        )}
        <span className="sidebar-name">{namesOf(shown)}</span>
        {only !== undefined && <StatusEmoji status={only.status} />}
        <Count value={unreadCount} isPersonal />
      </Link>
    </li>
  );
});
