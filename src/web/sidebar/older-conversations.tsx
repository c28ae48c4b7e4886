import { type MouseEvent, useState } from 'react';
import { useQuery } from 'urql';
import { OlderConversationsDocument } from '../generated/graphql.ts';
import { Icon } from '../ui/icons.tsx';
import { DirectRow } from './direct-row.tsx';

interface Props {
  /** Of the conversations before them; undefined while these are read. */
  readonly info: { readonly hasNextPage: boolean; readonly endCursor: string | null } | undefined;
  readonly viewerId: string;
}

/** The direct conversations that follow those of a page, a page each time when asked for. */
export function OlderConversations(props: Props) {
  const [pages, setPages] = useState(0);
  return <Following {...props} pages={pages} onMore={() => setPages(pages + 1)} />;
}

interface FollowingProps extends Props {
  /** How many are wanted. */
  readonly pages: number;
  readonly onMore: () => void;
}

/**
 * They begin where what is before them ends by now: a conversation that somebody writes in moves to the first page, whose
 * last one moves here.
 */
function Following({ info, viewerId, pages, onMore }: FollowingProps) {
  const { hasNextPage = false, endCursor = null } = info ?? {};
  if (!hasNextPage || endCursor === null) return null;
  if (pages > 0) return <Page after={endCursor} viewerId={viewerId} pages={pages - 1} onMore={onMore} />;
  const show = ({ currentTarget }: MouseEvent) => {
    // The button goes; who has come here by the keyboard goes on from the row before it.
    currentTarget.closest('li')?.previousElementSibling?.querySelector('a')?.focus();
    onMore();
  };
  return (
    <li>
      <button type="button" className="sidebar-row sidebar-button" onClick={show}>
        <Icon name="down" size={16} />
        <span className="sidebar-name">Older conversations</span>
      </button>
    </li>
  );
}

function Page({ after, ...rest }: Omit<FollowingProps, 'info'> & { readonly after: string }) {
  const [{ data }] = useQuery({
    query: OlderConversationsDocument,
    variables: { after },
    requestPolicy: 'cache-and-network',
  });
  const { nodes = [], pageInfo } = data?.directConversations ?? {};
  return (
    <>
      {nodes.map((conversation) => (
        <DirectRow key={conversation.id} conversation={conversation} viewerId={rest.viewerId} />
      ))}
      <Following info={pageInfo} {...rest} />
    </>
  );
}
