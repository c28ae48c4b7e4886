import { type ReactNode, useState } from 'react';
import type { SidebarQuery } from '../generated/graphql.ts';
import { useIsAt } from '../routing/router.tsx';
import type { Route } from '../routing/routes.ts';
import { Icon } from '../ui/icons.tsx';
import { DirectRow, othersIn } from './direct-row.tsx';
import { OlderConversations } from './older-conversations.tsx';

/** Number of the latest conversations that are always listed. */
const LATEST = 8;

interface Props {
  readonly conversations: NonNullable<SidebarQuery['directConversations']>;
  readonly viewerId: string;
  /** Whether only conversations with unread messages, and the open one, are listed. */
  readonly isCollapsed: boolean;
  /** Whether the conversations are the result of a filter, and all are listed. */
  readonly isFiltered: boolean;
}

/** Rows of direct conversations: the latest ones, those with unread messages, the open one, and all others on request. */
export function DirectRows({ conversations: { nodes, pageInfo }, viewerId, isCollapsed, isFiltered }: Props) {
  const [showsAll, setShowsAll] = useState(false);
  const isOpen = (userIds: readonly string[]) => (route: Route) =>
    route.name === 'direct' && route.userIds.toSorted().join() === userIds.toSorted().join();
  return (
    <ul className="sidebar-list">
      {nodes.map((conversation, i) => (
        <Listed
          key={conversation.id}
          isListed={conversation.unreadCount > 0 || isFiltered || (!isCollapsed && (showsAll || i < LATEST))}
          isOpen={isOpen(othersIn(conversation, viewerId).map(({ id }) => id))}
        >
          <DirectRow conversation={conversation} viewerId={viewerId} />
        </Listed>
      ))}
      {!isFiltered && !isCollapsed && !showsAll && nodes.length > LATEST && (
        <li>
          <button type="button" className="sidebar-row sidebar-button" onClick={() => setShowsAll(true)}>
            <Icon name="open" size={16} />
            <span className="sidebar-name">More conversations</span>
          </button>
        </li>
      )}
      {!isFiltered && !isCollapsed && (showsAll || nodes.length <= LATEST) && (
        <OlderConversations info={pageInfo} viewerId={viewerId} />
      )}
    </ul>
  );
}

interface ListedProps {
  readonly isListed: boolean;
  readonly isOpen: (route: Route) => boolean;
  readonly children: ReactNode;
}

/** Renders a row if it is listed, or if its view is open. */
function Listed({ isListed, isOpen, children }: ListedProps) {
  const isHere = useIsAt(isOpen);
  return isListed || isHere ? children : null;
}
