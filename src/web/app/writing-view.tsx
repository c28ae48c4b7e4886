import type { ReactNode } from 'react';
import { DraftsList } from '../drafts/drafts-list.tsx';
import { RemindersList } from '../reminders/reminders-list.tsx';
import { Link } from '../routing/router.tsx';
import { addressOf, WRITING_LISTS, type WritingList } from '../routing/routes.ts';
import { ScheduledList } from '../scheduled/scheduled-list.tsx';
import { SnippetsList } from '../snippets/snippets-list.tsx';
import { Header } from '../ui/header.tsx';
import '../writing/writing.css';

const LISTS: Readonly<Record<WritingList, { readonly title: string; readonly list: () => ReactNode }>> = {
  drafts: { title: 'Drafts', list: () => <DraftsList /> },
  scheduled: { title: 'Scheduled', list: () => <ScheduledList /> },
  snippets: { title: 'Snippets', list: () => <SnippetsList /> },
  reminders: { title: 'Reminders', list: () => <RemindersList /> },
};

/** View of the viewer's drafts, scheduled messages, snippets and reminders: one list for each kind. */
export function WritingView({ list, menu }: { readonly list: WritingList; readonly menu: ReactNode }) {
  return (
    <>
      <Header menu={menu} title={LISTS[list].title} />
      <nav className="tabs" aria-label="Drafts and scheduled">
        {WRITING_LISTS.map((name) => (
          <Link className="tab" key={name} to={addressOf({ name: 'writing', list: name })}>
            {LISTS[name].title}
          </Link>
        ))}
      </nav>
      <div className="writing" data-section>
        {LISTS[list].list()}
      </div>
    </>
  );
}
