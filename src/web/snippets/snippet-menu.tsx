import { useQuery } from 'urql';
import { insert } from '../composer/write.ts';
import { SavedSnippetsDocument } from '../generated/graphql.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { openDialog } from '../ui/dialog.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { openPopup } from '../ui/popup.tsx';
import { SnippetDialog } from './snippet-dialog.tsx';
import { byTitle } from './snippets-list.tsx';

/** Has somebody put one of their snippets into a field, in the place of what is selected in it. */
export function openSnippetMenu(anchor: Element, field: HTMLTextAreaElement): void {
  openPopup(anchor, <SnippetMenu field={field} />);
}

function SnippetMenu({ field }: { readonly field: HTMLTextAreaElement }) {
  const [{ data, error }] = useQuery({ query: SavedSnippetsDocument });
  const snippets = data?.savedSnippets?.nodes ?? (error === undefined ? undefined : []);
  const items =
    snippets &&
    byTitle(snippets).map(({ id, title, content }): MenuItem => {
      return { id, label: title, icon: 'snippet', onChoose: () => insert(field, content) };
    });
  return <Menu label="Saved snippets" groups={items && [items, waysOn(field.value.trim())]} />;
}

/** @param text What is written, and may be worth keeping. */
const waysOn = (text: string): MenuItem[] => [
  {
    label: text === '' ? 'New snippet…' : 'Save as a snippet…',
    icon: 'plus',
    onChoose: () => openDialog(<SnippetDialog content={text} />),
  },
  { label: 'All snippets', icon: 'list', onChoose: () => navigate(addressOf({ name: 'writing', list: 'snippets' })) },
];
