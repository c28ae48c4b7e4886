import { useState } from 'react';
import { useQuery } from 'urql';
import { GroupNamesDocument, type GroupSettingInput, type HoldersFragment } from '../generated/graphql.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { Choice } from '../ui/form.tsx';
import { holdersInput, holdersSpoken, namedHolders, nameOfGroup } from './group-names.ts';

interface Props {
  readonly label: string;
  /** Who holds it by now. */
  readonly holders: HoldersFragment;
  readonly isFixed: boolean;
  /** Who somebody else has given it to while the viewer changes it. */
  readonly changedTo: string | undefined;
  readonly onChange: (next: GroupSettingInput) => void;
}

/** What an option is called that is no group's id. */
const CHOSEN = 'chosen';

/** Who holds a permission: a group, or people and groups that are chosen by name. */
export function PermissionField({ label, holders, isFixed, changedTo, onChange }: Props) {
  const [{ data }] = useQuery({ query: GroupNamesDocument });
  const [chosen, setChosen] = useState<string>();
  const value = chosen ?? holders.group?.id ?? CHOSEN;
  if (isFixed) {
    return (
      <div className="field">
        <span>{label}</span>
        <p>{holdersSpoken(holders)}</p>
      </div>
    );
  }
  const { nodes: listed = [], totalCount = 0 } = data?.userGroups ?? {};
  const isListed = holders.group === null || listed.some(({ id }) => id === holders.group?.id);
  const groups = isListed || holders.group === null ? listed : [...listed, holders.group];
  return (
    <>
      <Choice
        label={label}
        value={value}
        hint={(totalCount ?? 0) > listed.length && `The first ${listed.length} groups: find others by their names.`}
        options={[...groups.map((group) => [group.id, nameOfGroup(group)] as const), [CHOSEN, 'Chosen by name…']]}
        onChoose={(next) => {
          setChosen(next);
          onChange(next === CHOSEN ? holdersInput(namedHolders(holders)) : { groupId: next });
        }}
      />
      {changedTo !== undefined && (
        <p role="status" className="field-hint">
          Somebody else has changed it meanwhile: {changedTo}
        </p>
      )}
      {value === CHOSEN && (
        <PeoplePicker
          label={`${label}: who`}
          withGroups
          initial={namedHolders(holders)}
          onChange={(chosen) => onChange(holdersInput(chosen))}
        />
      )}
    </>
  );
}
