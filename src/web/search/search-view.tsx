import { type ReactNode, useEffect, useState } from 'react';
import { useClient } from 'urql';
import { narrowKey } from '../api/narrow.ts';
import { MessageList } from '../messages/message-list.tsx';
import { useViewer } from '../people/use-viewer.ts';
import { OPERATORS, type Operator, type Search, SearchProblem } from '../routing/query.ts';
import { Button } from '../ui/button.tsx';
import { Header } from '../ui/header.tsx';
import { Icon } from '../ui/icons.tsx';
import { KeepView } from './keep-view.tsx';
import { openSearch } from './open-search.tsx';
import { readSearch } from './read-search.ts';
import { SearchFacets } from './search-facets.tsx';
import './search.css';

/** View with the results of a search. For an empty search, shows the operators instead. */
export function SearchView({ text, menu }: { readonly text: string; readonly menu: ReactNode }) {
  const search = useSearch(text);
  return (
    <>
      <Header
        menu={menu}
        title="Search"
        detail={text === '' ? 'All messages that you can read' : <span className="search-line">{text}</span>}
      >
        {text !== '' && typeof search === 'object' && <KeepView text={text} />}
        <Button className="search-change" onClick={() => openSearch(text)}>
          <Icon name="search" size={16} /> {text === '' ? 'Search' : 'Change'}
        </Button>
      </Header>
      {text === '' ? <Terms /> : <Found text={text} search={search} />}
    </>
  );
}

/** Parses a search. @returns The parsed search, or an error message if the search is invalid; undefined until it is parsed. */
function useSearch(text: string): Search | string | undefined {
  const client = useClient();
  const [search, setSearch] = useState<Search | string>();
  useEffect(() => {
    let isWanted = true;
    const found = (result: Search | string) => isWanted && setSearch(result);
    void readSearch(client, text).then(found, (error: unknown) => {
      if (!(error instanceof SearchProblem)) throw error;
      found(error.message);
    });
    return () => {
      isWanted = false;
    };
  }, [client, text]);
  return search;
}

function Found({ text, search }: { readonly text: string; readonly search: Search | string | undefined }) {
  const { viewerId } = useViewer();
  if (search === undefined) return <div className="shell-blank" aria-busy="true" />;
  if (typeof search === 'string') {
    return (
      <p className="message-note" role="alert">
        {search}
      </p>
    );
  }
  return (
    <>
      <SearchFacets text={text} search={search} />
      <MessageList
        key={narrowKey(search.narrow) + search.before + search.after}
        narrow={search.narrow}
        label={`Search results: ${text}`}
        places="all"
        viewerId={viewerId}
        search={search}
      />
    </>
  );
}

const EXAMPLES: Readonly<Record<Operator, string>> = {
  channel: 'channel:general',
  topic: 'topic:"release notes"',
  sender: 'sender:me',
  dm: 'dm:"Ada Lovelace, Alan Turing"',
  'dm-including': 'dm-including:"Ada Lovelace"',
  mentions: 'mentions:me',
  is: 'is:starred',
  has: 'has:link',
  channels: 'channels:public',
  before: 'before:2026-01-31',
  after: 'after:2026-01-01',
};

/** List of the operators, with examples that the user can click to start a search. */
function Terms() {
  return (
    <div className="search-terms" data-section>
      <p>Words match in all their forms. Quoted text matches exactly. Filters restrict the search:</p>
      <dl>
        {Object.entries(OPERATORS).map(([name, hint]) => (
          <div key={name}>
            <dt>
              <button type="button" className="search-term" onClick={() => openSearch(`${name}:`)}>
                {EXAMPLES[name as Operator]}
              </button>
            </dt>
            <dd>{hint}</dd>
          </div>
        ))}
        <div>
          <dt>
            <button type="button" className="search-term" onClick={() => openSearch('-')}>
              -sender:me
            </button>
          </dt>
          <dd>excludes matches, with a minus before a word or filter</dd>
        </div>
      </dl>
    </div>
  );
}
