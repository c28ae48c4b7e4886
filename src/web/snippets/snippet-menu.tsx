import { useData } from '../api/use-data.ts';
import { SavedSnippetsDocument } from '../generated/graphql.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { openDialog } from '../ui/dialog.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { openPopup } from '../ui/popup.tsx';
import { insert } from '../ui/write.ts';
import { SnippetDialog } from './snippet-dialog.tsx';
import { byTitle } from './snippets-list.tsx';

/** Opens a menu of snippets beside an element. The chosen snippet replaces the selection of the field. */
export function openSnippetMenu(anchor: Element, field: HTMLTextAreaElement): void {
  openPopup(anchor, <SnippetMenu field={field} />);
}

function SnippetMenu({ field }: { readonly field: HTMLTextAreaElement }) {
  const { data, state } = useData(SavedSnippetsDocument, {});
  const snippets = data?.savedSnippets?.nodes ?? (state === 'failed' ? [] : undefined);
  const items =
    snippets &&
    byTitle(snippets).map(({ id, title, content }): MenuItem => {
      return { id, label: title, icon: 'snippet', onChoose: () => insert(field, content) };
    });
  return <Menu label="Saved snippets" groups={items && [items, waysOn(field.value.trim())]} />;
}

/** Returns the menu items below the snippets. @param text Text of the field, which the user can save as a snippet. */
const waysOn = (text: string): MenuItem[] => [
  {
    label: text === '' ? 'New snippet…' : 'Save as a snippet…',
    icon: 'plus',
    onChoose: () => openDialog(<SnippetDialog content={text} />),
  },
  { label: 'All snippets', icon: 'list', onChoose: () => navigate(addressOf({ name: 'writing', list: 'snippets' })) },
];
