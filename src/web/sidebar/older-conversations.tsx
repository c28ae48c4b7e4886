import { type MouseEvent, useState } from 'react';
import { useData } from '../api/use-data.ts';
import { OlderConversationsDocument } from '../generated/graphql.ts';
import { Icon } from '../ui/icons.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { DirectRow } from './direct-row.tsx';

interface Props {
  /** Page info of the preceding page of conversations. Undefined while that page is being loaded. */
  readonly info: { readonly hasNextPage: boolean; readonly endCursor: string | null } | undefined;
  readonly viewerId: string;
}

/**
 * Rows of the direct conversations that follow the first page in the sidebar. Each click on the button in the last row loads
 * one more page.
 */
export function OlderConversations(props: Props) {
  const [pages, setPages] = useState(0);
  return <Following {...props} pages={pages} onMore={() => setPages(pages + 1)} />;
}

interface FollowingProps extends Props {
  /** Number of further pages to show. */
  readonly pages: number;
  readonly onMore: () => void;
}

/**
 * Renders `pages` further pages, and then the button. Each page begins at the current end of the preceding page. If a
 * conversation gets a new message, it moves to the first page. The last conversation of the first page then moves to the page
 * that follows.
 */
function Following({ info, viewerId, pages, onMore }: FollowingProps) {
  const { hasNextPage = false, endCursor = null } = info ?? {};
  if (!hasNextPage || endCursor === null) return null;
  if (pages > 0) return <Page after={endCursor} viewerId={viewerId} pages={pages - 1} onMore={onMore} />;
  const show = ({ currentTarget }: MouseEvent) => {
    // The button disappears, so keyboard users continue from the row before it.
    currentTarget.closest('li')?.previousElementSibling?.querySelector('a')?.focus();
    onMore();
  };
  return (
    <li>
      <button type="button" className="sidebar-row sidebar-button" onClick={show}>
        <Icon name="open" size={16} />
        <span className="sidebar-name">Older conversations</span>
      </button>
    </li>
  );
}

function Page({ after, ...rest }: Omit<FollowingProps, 'info'> & { readonly after: string }) {
  const read = useData(OlderConversationsDocument, { after }, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.directConversations ?? {};
  return (
    <>
      {nodes.map((conversation) => (
        <DirectRow key={conversation.id} conversation={conversation} viewerId={rest.viewerId} />
      ))}
      <Following info={pageInfo} {...rest} />
    </>
  );
}
