import type { ReactNode } from 'react';
import { Header } from '../ui/header.tsx';
import { PeopleList } from './people-list.tsx';
import { PeopleTabs } from './people-tabs.tsx';

/** View of the users that the viewer can see. */
export function Directory({ menu }: { readonly menu: ReactNode }) {
  return (
    <>
      <Header menu={menu} title="People" />
      <div className="page" data-section>
        <PeopleTabs />
        <section className="page-section" aria-label="All people">
          <PeopleList />
        </section>
      </div>
    </>
  );
}
