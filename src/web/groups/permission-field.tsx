import { useState } from 'react';
import { useData } from '../api/use-data.ts';
import { GroupNamesDocument, type GroupSettingInput, type HoldersFragment } from '../generated/graphql.ts';
import { holdersInput, holdersSpoken, namedHolders, nameOfGroup } from '../people/group-names.ts';
import { PeoplePicker } from '../people/people-picker.tsx';
import { Choice } from '../ui/form.tsx';
import { Failure } from '../ui/not-ready.tsx';

interface Props {
  readonly label: string;
  /** The current holders of the permission. */
  readonly holders: HoldersFragment;
  readonly isFixed: boolean;
  /** Current holders, as text, if another user has changed them while the viewer edits. Otherwise undefined. */
  readonly changedTo: string | undefined;
  readonly onChange: (next: GroupSettingInput) => void;
}

/** Value of the option for specific users and groups. The values of all other options are group IDs. */
export const CHOSEN = 'chosen';

/** Returns the groups that can be chosen as the holder of a permission, with a hint if there are more. */
export function useHolderGroups({ group }: HoldersFragment) {
  const { data } = useData(GroupNamesDocument, {});
  const { nodes: listed = [], totalCount = 0 } = data?.userGroups ?? {};
  const isListed = group === null || listed.some(({ id }) => id === group.id);
  return {
    groups: isListed ? listed : [...listed, group],
    hint: (totalCount ?? 0) > listed.length && `Showing the first ${listed.length} groups.`,
  };
}

/** Error card of forms with permissions, if the groups of `useHolderGroups` could not be read. */
export const HolderGroupsFailure = () => <Failure of={useData(GroupNamesDocument, {})} />;

/** Field for the holders of a permission: one group, or chosen users and groups. */
export function PermissionField({ label, holders, isFixed, changedTo, onChange }: Props) {
  const { groups, hint } = useHolderGroups(holders);
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
  return (
    <>
      <Choice
        label={label}
        value={value}
        hint={hint}
        options={[
          ...groups.map((group) => [group.id, nameOfGroup(group)] as const),
          [CHOSEN, 'Specific users and groups…'],
        ]}
        onChoose={(next) => {
          setChosen(next);
          onChange(next === CHOSEN ? holdersInput(namedHolders(holders)) : { groupId: next });
        }}
      />
      {changedTo !== undefined && (
        <p role="status" className="field-hint">
          Another user has changed this to: {changedTo}
        </p>
      )}
      {value === CHOSEN && (
        <PeoplePicker
          label={`${label}: users and groups`}
          withGroups
          initial={namedHolders(holders)}
          onChange={(chosen) => onChange(holdersInput(chosen))}
        />
      )}
    </>
  );
}
