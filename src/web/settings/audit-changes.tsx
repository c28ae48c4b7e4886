import { useMemo } from 'react';
import { labelOfSetting } from '../administration/setting-table.ts';
import { globalId } from '../api/global-id.ts';
import { useData } from '../api/use-data.ts';
import { type AuditLogLineFragment, AuditNamesDocument, type AuditNamesQuery } from '../generated/graphql.ts';
import { nameOfGroup } from '../people/group-names.ts';
import { ROLE_NAMES } from '../people/roles.ts';
import { Failure } from '../ui/not-ready.tsx';

type Changes = AuditLogLineFragment['changes'];
/** Types of the objects that values name by id. */
type Typename = 'User' | 'UserGroup' | 'Channel';
/** Names of objects by their global ids. */
type Names = ReadonlyMap<string, string>;

const TYPES: readonly (readonly [pattern: RegExp, Typename])[] = [
  [/^members$|(^|_)(user|inviter|owner|member)_ids?$/, 'User'],
  [/_group$|group_ids?$/, 'UserGroup'],
  [/(^|_)(stream|channel)_ids?$/, 'Channel'],
];
/** Names of the REST API that have another name in the page. */
const LABELS: Readonly<Record<string, string>> = {
  stream_ids: 'channels',
  group_ids: 'groups',
  user_id: 'user',
  inviter_id: 'invited by',
  bot_owner_id: 'owner',
  is_reusable: 'reusable link',
};

/** Roles by their numbers in the REST API. */
const ROLES: Readonly<Record<number, string>> = {
  100: ROLE_NAMES.OWNER,
  200: ROLE_NAMES.ADMINISTRATOR,
  300: ROLE_NAMES.MODERATOR,
  400: ROLE_NAMES.MEMBER,
  600: ROLE_NAMES.GUEST,
};

/** Maximum number of objects whose names are read at once. */
const MAX_NAMES = 100;

const typeOf = (name: string): Typename | undefined => TYPES.find(([pattern]) => pattern.test(name))?.[1];
const labelOf = (name: string): string => labelOfSetting(name) ?? LABELS[name] ?? name.replaceAll('_', ' ');
const parsed = (json: string | null): unknown => (json === null ? undefined : JSON.parse(json));

/** Members and subgroups of a permission that no single group has. */
interface Holders {
  readonly direct_members?: readonly number[];
  readonly direct_subgroups?: readonly number[];
}

/** Returns the ids in a value, as global ids. */
function idsIn(value: unknown, type: Typename | undefined): string[] {
  if (typeof value === 'number') return type === undefined || value < 1 ? [] : [globalId(type, String(value))];
  if (Array.isArray(value)) return value.flatMap((one) => idsIn(one, type));
  if (typeof value !== 'object' || value === null) return [];
  const { direct_members: members, direct_subgroups: subgroups } = value as Holders;
  return [...idsIn(members, 'User'), ...idsIn(subgroups, 'UserGroup')];
}

/** Returns a value as text for the user. */
function spoken(value: unknown, name: string, type: Typename | undefined, names: Names): string {
  if (value === null || value === '') return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') {
    if (/(^|_)role$/.test(name)) return ROLES[value] ?? String(value);
    if (type === undefined) return String(value);
    return value < 1 ? 'none' : (names.get(globalId(type, String(value))) ?? `#${value}`);
  }
  if (Array.isArray(value)) {
    const items = value.map((one) => spoken(one, name, type, names));
    return items.length === 0 ? 'none' : new Intl.ListFormat().format(items);
  }
  const { direct_members: members, direct_subgroups: subgroups, ...others } = value as Holders;
  if (members === undefined || subgroups === undefined || Object.keys(others).length > 0) return JSON.stringify(value);
  const holders = [
    ...subgroups.map((one) => spoken(one, name, 'UserGroup', names)),
    ...members.map((one) => spoken(one, name, 'User', names)),
  ];
  return holders.length === 0 ? 'Nobody' : new Intl.ListFormat().format(holders);
}

const namesIn = (data: AuditNamesQuery | undefined): Names =>
  new Map(
    (data?.nodes ?? []).flatMap((node): [string, string][] => {
      if (node?.__typename === 'User') return [[node.id, node.fullName]];
      if (node?.__typename === 'UserGroup') return [[node.id, nameOfGroup(node)]];
      return node?.__typename === 'Channel' ? [[node.id, node.name]] : [];
    }),
  );

/** The properties that an action changed, with names instead of ids. */
export function AuditChanges({ changes }: { readonly changes: Changes }) {
  const values = useMemo(
    () => changes.map(({ name, oldValue, newValue }) => ({ name, old: parsed(oldValue), next: parsed(newValue) })),
    [changes],
  );
  const ids = useMemo(() => {
    const all = values.flatMap(({ name, old, next }) => [old, next].flatMap((value) => idsIn(value, typeOf(name))));
    return [...new Set(all)].slice(0, MAX_NAMES);
  }, [values]);
  const read = useData(AuditNamesDocument, { ids }, { pause: ids.length === 0 });
  const names = namesIn(read.data);
  const isReading = ids.length > 0 && read.state === 'loading';
  const text = (value: unknown, name: string) => (isReading ? '…' : spoken(value, name, typeOf(name), names));
  return (
    <>
      {values.map(({ name, old, next }) => (
        <div key={name}>
          <dt>{labelOf(name)}</dt>
          <dd>
            {old !== undefined && (
              <del>
                <bdi>{text(old, name)}</bdi>
              </del>
            )}{' '}
            {next !== undefined && (
              <ins>
                <bdi>{text(next, name)}</bdi>
              </ins>
            )}
          </dd>
        </div>
      ))}
      {read.state === 'failed' && (
        <div>
          <dt>Names</dt>
          <dd>
            <Failure of={read} />
          </dd>
        </div>
      )}
    </>
  );
}
