import { useEffect, useRef, useState } from 'react';
import { useData } from '../api/use-data.ts';
import {
  type AuditAction,
  AuditLogDocument,
  type AuditLogFilterInput,
  type AuditLogLineFragment,
  AuditLogRetentionDocument,
  type AuditObjectType,
} from '../generated/graphql.ts';
import type { Named } from '../people/named.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { useViewer } from '../people/use-viewer.ts';
import { Button } from '../ui/button.tsx';
import { useClock } from '../ui/clock.ts';
import { Choice, type ChoiceHandle, TextField } from '../ui/form.tsx';
import { NotReady } from '../ui/not-ready.tsx';
import { type ListPage, More, Pages } from '../ui/pages.tsx';
import { AuditChanges } from './audit-changes.tsx';
import { ACTION_WORDS, actorOf, labelOf, OBJECT_WORDS, objectOf, sentenceOf } from './audit-words.ts';
import './audit-log.css';

/** The object of an entry. */
interface AuditedObject {
  readonly type: AuditObjectType;
  readonly id: string;
  readonly name: string;
}

/** Conditions of the list, as the viewer chose them. Days are empty or in ISO 8601. */
interface Chosen {
  readonly actors: readonly Named[];
  readonly action: AuditAction | '';
  readonly objectType: AuditObjectType | '';
  /** A single object. Null: all. */
  readonly object: AuditedObject | null;
  readonly since: string;
  readonly until: string;
}

const ACTIONS = (Object.keys(ACTION_WORDS) as AuditAction[])
  .map((action) => [action, labelOf(action)] as const)
  .sort(([, a], [, b]) => a.localeCompare(b));

const OBJECT_TYPES = Object.entries(OBJECT_WORDS) as [AuditObjectType, string][];

const DAY_MS = 86_400_000;
/** Returns the beginning of a day in the time zone of the browser. */
const startOf = (day: string): Date => new Date(`${day}T00:00`);

function filterOf({ actors, action, objectType, object, since, until }: Chosen): AuditLogFilterInput {
  return {
    ...(actors.length > 0 && { actorIds: actors.map(({ id }) => id) }),
    ...(action !== '' && { actions: [action] }),
    ...(objectType !== '' && { objectType }),
    ...(object !== null && { objectType: object.type, objectId: object.id }),
    ...(since !== '' && { sinceAt: startOf(since).toISOString() }),
    ...(until !== '' && { untilAt: new Date(startOf(until).getTime() + DAY_MS).toISOString() }),
  };
}

/** Returns the number in a global id. */
const numberIn = (id: unknown): string => atob(String(id)).split(':')[1] ?? '';

/** Returns the URL of the download with the same conditions. */
function downloadOf(filter: AuditLogFilterInput, format: 'csv' | 'jsonl'): string {
  const { actorIds, actions, objectType, objectId, sinceAt, untilAt } = filter;
  const numbers = (actorIds ?? []).map(numberIn);
  const parameters = {
    ...{ format, actors: numbers.join(), actions: (actions ?? []).join().toLowerCase() },
    ...{ object_type: (objectType ?? '').toLowerCase(), object_id: objectId == null ? '' : numberIn(objectId) },
    ...{ since: String(sinceAt ?? ''), until: String(untilAt ?? '') },
  };
  const given = Object.entries(parameters).filter(([, value]) => value !== '');
  return `/audit-log/export?${new URLSearchParams(given)}`;
}

const ALL: Chosen = { actors: [], action: '', objectType: '', object: null, since: '', until: '' };

/** The audit log of the organization, with filters and downloads. For administrators. */
export function AuditLog() {
  const { viewer } = useViewer();
  const [chosen, setChosen] = useState<Chosen>(ALL);
  const objects = useRef<ChoiceHandle>(null);
  if (viewer !== null && viewer.role !== 'OWNER' && viewer.role !== 'ADMINISTRATOR') {
    return <p className="soft">Only administrators can read the audit log.</p>;
  }
  const filter = filterOf(chosen);
  const change = (changed: Partial<Chosen>) => setChosen({ ...chosen, ...changed });
  const showAll = () => {
    change({ object: null });
    // The button that was pressed disappears.
    objects.current?.focus();
  };
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
        <Choice
          ref={objects}
          label="Object"
          value={chosen.object?.type ?? chosen.objectType}
          options={[['', 'All objects'], ...OBJECT_TYPES]}
          onChoose={(objectType) => change({ objectType, object: null })}
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
      {chosen.object !== null && <ChosenObject key={chosen.object.id} name={chosen.object.name} onClear={showAll} />}
      <Retention />
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
        <Pages of={JSON.stringify(filter)}>
          {(page) => <EntriesPage filter={filter} page={page} onChoose={(object) => change({ object })} />}
        </Pages>
      </ul>
    </>
  );
}

interface ChosenProps {
  readonly name: string;
  readonly onClear: () => void;
}

/** The single object to which the list is limited. Gets the focus, because the button that chose it is gone. */
function ChosenObject({ name, onClear }: ChosenProps) {
  const text = useRef<HTMLParagraphElement>(null);
  useEffect(() => text.current?.focus(), []);
  return (
    <div className="page-bar">
      <p ref={text} tabIndex={-1}>
        Only entries about <bdi>{name}</bdi>
      </p>
      <Button onClick={onClear}>Show all objects</Button>
    </div>
  );
}

/** States how long the service keeps entries. */
function Retention() {
  const read = useData(AuditLogRetentionDocument, {});
  const days = read.data?.organization?.auditLogRetentionDays;
  if (days == null) return null;
  return <p className="soft">Entries are deleted after {days === 1 ? 'one day' : `${days} days`}.</p>;
}

interface EntriesProps {
  readonly filter: AuditLogFilterInput;
  readonly page: ListPage;
  /** Called to limit the list to the object of an entry. */
  readonly onChoose: (object: AuditedObject) => void;
}

function EntriesPage({ filter, page, onChoose }: EntriesProps) {
  const read = useData(AuditLogDocument, { filter, after: page.after }, { requestPolicy: 'cache-and-network' });
  if (read.state !== 'ready') return <NotReady of={read} as="li" />;
  const { nodes = [], pageInfo } = read.data.organization?.auditLogEntries ?? {};
  return (
    <>
      {nodes.map((entry) => (
        <Entry key={entry.id} entry={entry} onChoose={onChoose} />
      ))}
      {nodes.length === 0 && page.after === null && <li className="row soft">No entries.</li>}
      <More page={page} info={pageInfo}>
        Earlier entries
      </More>
    </>
  );
}

interface EntryProps extends Pick<EntriesProps, 'onChoose'> {
  readonly entry: AuditLogLineFragment;
}

function Entry({ entry, onChoose }: EntryProps) {
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
          {isOpen && entry.objectId !== null && <OnlyObject entry={entry} id={entry.objectId} onChoose={onChoose} />}
        </details>
      </div>
    </li>
  );
}

/** Button that limits the list to the object of an entry. */
function OnlyObject({ entry, id, onChoose }: EntryProps & { readonly id: string }) {
  const { objectType, user } = entry;
  const name = objectType === 'ORGANIZATION' ? 'the organization' : (user?.fullName ?? objectOf(entry));
  const shown = name === '' ? 'this object' : name;
  return (
    <Button onClick={() => onChoose({ type: objectType, id, name: shown })}>
      Only entries about <bdi>{shown}</bdi>
    </Button>
  );
}
