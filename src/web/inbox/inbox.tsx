import type { ReactNode } from 'react';
import { useFirstScreen } from '../people/use-viewer.ts';
import { Link } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { Count } from '../ui/count.tsx';
import { Header } from '../ui/header.tsx';
import { namesOf } from '../ui/person.tsx';
import './inbox.css';

/** View of the conversations and channels with unread messages, except of muted messages. */
export function Inbox({ menu }: { readonly menu: ReactNode }) {
  const data = useFirstScreen();
  const viewerId = data?.viewer?.id ?? '';
  const channels = (data?.subscriptions?.nodes ?? []).filter(({ unreadCount }) => unreadCount > 0);
  const conversations = (data?.directConversations?.nodes ?? []).filter(({ unreadCount }) => unreadCount > 0);
  return (
    <>
      <Header menu={menu} title="Inbox" />
      <div className="inbox" data-section>
        {channels.length + conversations.length === 0 && <p className="message-note">No unread messages.</p>}
        <ul className="inbox-list">
          {conversations.map(({ id, participants, unreadCount }) => {
            const others = participants.filter((person) => person.id !== viewerId);
            return (
              <li key={id}>
                <Link
                  className="inbox-row"
                  to={addressOf({ name: 'direct', userIds: others.map((person) => person.id) })}
                >
                  <span>{namesOf(others)}</span>
                  <Count value={unreadCount} />
                </Link>
              </li>
            );
          })}
          {channels.map(({ id, channel, unreadCount }) => (
            <li key={id}>
              <Link className="inbox-row" to={addressOf({ name: 'channel', channelId: channel.id }, channel.name)}>
                <span>#{channel.name}</span>
                <Count value={unreadCount} />
              </Link>
            </li>
          ))}
        </ul>
      </div>
    </>
  );
}
