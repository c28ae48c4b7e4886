import { useState } from 'react';
import { type Client, useClient } from 'urql';
import {
  AddNavigationViewDocument,
  RemoveNavigationViewDocument,
  type SidebarQuery,
  UpdateNavigationViewDocument,
} from '../generated/graphql.ts';
import { Link } from '../routing/router.tsx';
import { type View, viewsOf } from '../routing/views.ts';
import { act } from '../ui/act.ts';
import { IconButton } from '../ui/button.tsx';
import { Count } from '../ui/count.tsx';
import { Icon, type IconName } from '../ui/icons.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { openPopup } from '../ui/popup.tsx';

interface Props {
  readonly setUp: NonNullable<SidebarQuery['navigationViews']>['nodes'];
  /** Numbers of unread messages, by the fragment of the view. Views without an entry show no number. */
  readonly counts: Readonly<Record<string, number>>;
}

/** List of the pinned views. A button shows the views that are not pinned. */
export function ViewRows({ setUp, counts }: Props) {
  const client = useClient();
  const [showsAll, setShowsAll] = useState(false);
  const views = viewsOf(setUp);
  const row = (view: View) => (
    <ViewRow
      key={view.fragment}
      to={view.address}
      within={view.within}
      icon={view.icon}
      name={view.title}
      count={counts[view.fragment] ?? 0}
      isPersonal={view.fragment === 'narrow/is/mentioned'}
      onMenu={(anchor) => openPopup(anchor, <Menu label={view.title} groups={[choicesFor(client, view)]} />)}
    />
  );
  return (
    <>
      <ul className="sidebar-list" aria-label="Views">
        {views.filter(({ isPinned }) => isPinned).map(row)}
        {showsAll && views.filter(({ isPinned }) => !isPinned).map(row)}
      </ul>
      <div className="sidebar-views-end">
        <button
          type="button"
          className="sidebar-row sidebar-button"
          aria-expanded={showsAll}
          onClick={() => setShowsAll((before) => !before)}
        >
          <Icon name={showsAll ? 'fold' : 'open'} size={16} />
          <span className="sidebar-name">{showsAll ? 'Fewer views' : 'More views'}</span>
        </button>
        <IconButton
          icon="more"
          label="Arrange views"
          aria-haspopup="menu"
          onClick={({ currentTarget }) =>
            openPopup(currentTarget, <Menu label="Views" groups={[views.map((view) => pinning(client, view))]} />)
          }
        />
      </div>
    </>
  );
}

const pinning = (client: Client, view: View): MenuItem => ({
  label: `${view.isPinned ? 'Unpin' : 'Pin'} ${view.title}`,
  icon: 'pin',
  onChoose: () => void pin(client, view, !view.isPinned),
});

function choicesFor(client: Client, view: View): MenuItem[] {
  const remove: MenuItem = {
    label: 'Remove view',
    icon: 'trash',
    onChoose: () => void act(client, RemoveNavigationViewDocument, { input: { fragment: view.fragment } }),
  };
  return [pinning(client, view), ...(view.isOwn ? [remove] : [])];
}

/** Pins or unpins a view. The first change of a built-in view adds an entry for it on the service. */
const pin = (client: Client, { fragment, isSetUp }: View, isPinned: boolean): Promise<unknown> =>
  isSetUp
    ? act(client, UpdateNavigationViewDocument, { input: { fragment, isPinned } })
    : act(client, AddNavigationViewDocument, { input: { fragment, isPinned } });

interface ViewRowProps {
  readonly to: string;
  /** Prefix of other paths at which the view is shown as open. */
  readonly within?: string | undefined;
  readonly icon: IconName;
  readonly name: string;
  readonly count?: number;
  /** Whether the number counts mentions only. */
  readonly isPersonal?: boolean;
  /**
   * Opens the menu of the view beside `anchor`, the link of the row. Called when the user requests a context menu, such as with
   * a right click. Absent if the view has no menu.
   */
  readonly onMenu?: (anchor: Element) => void;
}

export function ViewRow({ to, within, icon, name, count = 0, isPersonal = false, onMenu }: ViewRowProps) {
  return (
    <li>
      <Link
        className="sidebar-row"
        to={to}
        within={within}
        onContextMenu={(event) => {
          if (onMenu === undefined) return;
          event.preventDefault();
          onMenu(event.currentTarget);
        }}
      >
        <Icon name={icon} size={16} />
        <span className="sidebar-name">{name}</span>
        <Count value={count} isPersonal={isPersonal} />
      </Link>
    </li>
  );
}
