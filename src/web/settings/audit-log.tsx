import { useState } from 'react';
import { useData } from '../api/use-data.ts';
import {
  type AuditAction,
  AuditLogDocument,
  type AuditLogFilterInput,
  type AuditLogLineFragment,
} from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { useViewer } from '../people/use-viewer.ts';
import { useClock } from '../ui/clock.ts';
import { Choice, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { AuditChanges } from './audit-changes.tsx';
import { ACTION_WORDS, actorOf, labelOf, sentenceOf } from './audit-words.ts';
import './audit-log.css';

/** Conditions of the list, as the viewer chose them. Days are empty or in ISO 8601. */
interface Chosen {
  readonly actors: readonly Named[];
  readonly action: AuditAction | '';
  readonly since: string;
  readonly until: string;
}

const ACTIONS = (Object.keys(ACTION_WORDS) as AuditAction[])
  .map((action) => [action, labelOf(action)] as const)
  .sort(([, a], [, b]) => a.localeCompare(b));

const DAY_MS = 86_400_000;
/** Returns the beginning of a day in the time zone of the browser. */
const startOf = (day: string): Date => new Date(`${day}T00:00`);

function filterOf({ actors, action, since, until }: Chosen): AuditLogFilterInput {
  return {
    ...(actors.length > 0 && { actorIds: actors.map(({ id }) => id) }),
    ...(action !== '' && { actions: [action] }),
    ...(since !== '' && { sinceAt: startOf(since).toISOString() }),
    ...(until !== '' && { untilAt: new Date(startOf(until).getTime() + DAY_MS).toISOString() }),
  };
}

/** Returns the URL of the download with the same conditions. */
function downloadOf(filter: AuditLogFilterInput, format: 'csv' | 'jsonl'): string {
  const { actorIds, actions, sinceAt, untilAt } = filter;
  const numbers = (actorIds ?? []).map((id) => atob(String(id)).split(':')[1]);
  const parameters = {
    ...{ format, actors: numbers.join(), actions: (actions ?? []).join().toLowerCase() },
    ...{ since: String(sinceAt ?? ''), until: String(untilAt ?? '') },
  };
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  return `/audit-log/export?${new URLSearchParams(given)}`;
}

/** The audit log of the organization, with filters and downloads. For administrators. */
export function AuditLog() {
  const { viewer } = useViewer();
  const [chosen, setChosen] = useState<Chosen>({ actors: [], action: '', since: '', until: '' });
  if (viewer !== null && viewer.role !== 'OWNER' && viewer.role !== 'ADMINISTRATOR') {
    return <p className="soft">Only administrators can read the audit log.</p>;
  }
  const filter = filterOf(chosen);
  const change = (changed: Partial<Chosen>) => setChosen({ ...chosen, ...changed });
  return (
    <>
      <form className="audit-filter" aria-label="Filter" onSubmit={(event) => event.preventDefault()}>
        <PeoplePicker label="People" onChange={(actors) => change({ actors })} />
        <Choice
          label="Action"
          value={chosen.action}
          options={[['', 'All actions'], ...ACTIONS]}
          onChoose={(action) => change({ action })}
        />
        <TextField
          label="From"
          type="date"
          value={chosen.since}
          onChange={(event) => change({ since: event.currentTarget.value })}
        />
        <TextField
          label="To"
          type="date"
          value={chosen.until}
          onChange={(event) => change({ until: event.currentTarget.value })}
        />
      </form>
      <p className="audit-downloads">
        Download these entries:{' '}
        <a href={downloadOf(filter, 'csv')} download>
          CSV
        </a>{' '}
        <a href={downloadOf(filter, 'jsonl')} download>
          JSON lines
        </a>
      </p>
      <ul className="plain-list" aria-label="Entries">
        <Pages of={JSON.stringify(filter)}>{(page) => <EntriesPage filter={filter} page={page} />}</Pages>
      </ul>
    </>
  );
}

function EntriesPage({ filter, page }: { readonly filter: AuditLogFilterInput; readonly page: ListPage }) {
  const read = useData(AuditLogDocument, { filter, after: page.after }, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.organization?.auditLogEntries ?? {};
  return (
    <>
      {nodes.map((entry) => (
        <Entry key={entry.id} entry={entry} />
      ))}
      {nodes.length === 0 && page.after === null && <li className="row soft">No entries.</li>}
      <More page={page} info={pageInfo}>
        Earlier entries
      </More>
    </>
  );
}

function Entry({ entry }: { readonly entry: AuditLogLineFragment }) {
  const { moment, exact } = useClock();
  const { createdAt, address, clientName, changes } = entry;
  const [isOpen, setOpen] = useState(false);
  const [before, object, after] = sentenceOf(entry);
  return (
    <li className="row">
      <div className="row-body">
        <p>
          <strong>
            <bdi>{actorOf(entry)}</bdi>
          </strong>{' '}
          {before}
          {object !== undefined && <bdi>{object}</bdi>}
          {after}
        </p>
        <details className="audit-details" onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary className="soft">
            <time dateTime={createdAt}>{moment(createdAt)}</time>
          </summary>
          <dl className="facts">
            <div>
              <dt>Time</dt>
              <dd>{exact(createdAt)}</dd>
            </div>
            {address !== null && (
              <div>
                <dt>Address</dt>
                <dd>
                  {address}
                  {clientName !== null && (
                    <>
                      , <bdi>{clientName}</bdi>
                    </>
                  )}
                </dd>
              </div>
            )}
            {isOpen && <AuditChanges changes={changes} />}
          </dl>
        </details>
      </div>
    </li>
  );
}
