import { useData } from '../api/use-data.ts';
import { insert } from '../composer/write.ts';
import { SavedSnippetsDocument } from '../generated/graphql.ts';
import { navigate } from '../routing/router.tsx';
import { addressOf } from '../routing/routes.ts';
import { openDialog } from '../ui/dialog.tsx';
import { Menu, type MenuItem } from '../ui/menu.tsx';
import { openPopup } from '../ui/popup.tsx';
import { SnippetDialog } from './snippet-dialog.tsx';
import { byTitle } from './snippets-list.tsx';

/** Opens a menu beside an element. The chosen snippet replaces the selection of the field. */
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

/** Returns the items that follow the snippets. @param text Text of the field, which can be saved as a snippet. */
const waysOn = (text: string): MenuItem[] => [
  {
    label: text === '' ? 'New snippet…' : 'Save as a snippet…',
    icon: 'plus',
    onChoose: () => openDialog(<SnippetDialog content={text} />),
  },
  { label: 'All snippets', icon: 'list', onChoose: () => navigate(addressOf({ name: 'writing', list: 'snippets' })) },
];
