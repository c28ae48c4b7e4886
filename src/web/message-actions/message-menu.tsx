import { useEffect, useState } from 'react';
import { type Client, useClient } from 'urql';
import { openRemindMenu } from '../reminders/remind-menu.tsx';
import { navigate } from '../routing/router.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { closePopup, openPopup } from '../ui/popup.tsx';
import { type Acted, copyContent, copyLink, edited, markUnread, readActed, star } from './acted.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { HistoryDialog } from './history-dialog.tsx';
import { MoveDialog } from './move-dialog.tsx';
import { placeAddress } from './place-address.ts';
import { ReceiptsDialog } from './receipts-dialog.tsx';
import { quoteAndReply } from './reply.ts';
import { ReportDialog } from './report-dialog.tsx';

/** Opens the menu of a message beside an element. */
export function openMessageMenu(anchor: Element, messageId: string, viewerId: string): void {
  openPopup(anchor, <MessageMenu anchor={anchor} messageId={messageId} viewerId={viewerId} />);
}

interface Props {
  readonly anchor: Element;
  readonly messageId: string;
  readonly viewerId: string;
}

function MessageMenu({ anchor, messageId, viewerId }: Props) {
  const client = useClient();
  const [message, setMessage] = useState<Acted>();
  useEffect(() => {
    void readActed(client, messageId).then((read) => (read === null ? closePopup() : setMessage(read)));
  }, [client, messageId]);
  return <Menu label="Message" groups={message && groupsFor(client, message, { anchor, viewerId })} />;
}

/**
 * Returns the `<time>` element of a message, beside which popups from the message menu open. The buttons of the message are
 * unsuitable, because they disappear as soon as another message is active. Null if the message is not shown.
 */
const timeOf = (messageId: string): Element | null =>
  document.querySelector(`article[data-id="${CSS.escape(messageId)}"] time`);

/**
 * Returns the groups of items of the message menu. Items that edit, move or delete the message are included only if the viewer
 * is allowed to do so.
 */
function groupsFor(
  client: Client,
  message: Acted,
  { anchor, viewerId }: Pick<Props, 'anchor' | 'viewerId'>,
): MenuItem[][] {
  const { id, content, viewerHasStarred, viewerCanEdit, viewerCanMove, viewerCanDelete } = message;
  const when = (isSo: boolean, item: MenuItem): MenuItem[] => (isSo ? [item] : []);
  const isChanged = message.lastEditedAt !== null || message.lastMovedAt !== null;
  return [
    [
      { label: 'Quote and reply', icon: 'reply', keys: '>', onChoose: () => void quoteAndReply(client, id) },
      { label: 'Copy text', icon: 'copy', onChoose: () => void copyContent(content) },
      { label: 'Copy link', icon: 'link', onChoose: () => void copyLink(id) },
    ],
    [
      ...when(viewerCanEdit, { label: 'Edit', icon: 'edit', keys: 'e', onChoose: () => edited.set({ id, content }) }),
      ...when(viewerCanMove, {
        label: 'Move…',
        icon: 'move',
        keys: 'm',
        onChoose: () => openDialog(<MoveDialog message={message} />),
      }),
    ],
    [
      {
        label: viewerHasStarred ? 'Unstar' : 'Star',
        icon: 'star',
        keys: 's',
        onChoose: () => star(client, id, !viewerHasStarred),
      },
      {
        label: 'Mark as unread from here',
        icon: 'unread',
        keys: 'Shift+U',
        onChoose: () => void markUnread(client, id),
      },
      {
        label: 'View in context',
        icon: 'move',
        keys: 'v',
        onChoose: () => navigate(placeAddress(message, viewerId)),
      },
      { label: 'Remind me…', icon: 'bell', onChoose: () => openRemindMenu(timeOf(id) ?? anchor, id) },
    ],
    [
      ...when(isChanged, {
        label: 'Edit history',
        icon: 'history',
        onChoose: () => openDialog(<HistoryDialog messageId={id} />),
      }),
      { label: 'Read receipts', icon: 'eye', onChoose: () => openDialog(<ReceiptsDialog messageId={id} />) },
      ...when(message.sender.id !== viewerId, {
        label: 'Report…',
        icon: 'flag',
        onChoose: () => openDialog(<ReportDialog messageId={id} sender={message.sender.fullName} />),
      }),
    ],
    when(viewerCanDelete, {
      label: 'Delete…',
      icon: 'trash',
      isDangerous: true,
      onChoose: () => openDialog(<DeleteDialog messageId={id} />),
    }),
  ];
}
